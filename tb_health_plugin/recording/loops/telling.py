"""What a loop tells of itself: that it began, how it went so far, that it ended."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.attempts import LeftBy
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops import ending
from tb_health_plugin.recording.loops.batches import Batches
from tb_health_plugin.recording.loops.description import describe
from tb_health_plugin.recording.loops.epoch import Epoch
from tb_health_plugin.recording.loops.looks import learning_rate
from tb_health_plugin.recording.loops.tapes import Tapes
from tb_health_plugin.recording.loops.weights import Weights

_DESCRIPTION = "what the loop trains"


class Telling:
    """Records the facts of one loop as a whole.

    Args:
        fit: The training.
        models: What it trains, by name.
        optimizers: What updates it, by name; some turn up later.
        weights: Its variables.
        batches: Its data.
        tapes: What was seen of its loss.
        planned_steps: As the program said; None if it did not.
    """

    def __init__(
        self,
        fit: Fit,
        *,
        models: Sequence[tuple[str, Any]],
        optimizers: Sequence[tuple[str, Any]],
        weights: Weights,
        batches: Batches,
        tapes: Tapes,
        planned_steps: int | None,
    ) -> None:
        self._fit = fit
        self._recorder = fit.recorder
        self._models, self._optimizers = models, optimizers
        self._weights, self._batches, self._tapes = weights, batches, tapes
        self._planned_steps = planned_steps
        self._first_step = self._step
        self._told_of = self._known()

    def started(self) -> None:
        """Told again when more is known of it: the last one counts."""
        self._told_of = self._known()
        told: dict[str, Any] = {}
        with self._fit.guard.protect(_DESCRIPTION):
            told = describe(self._fit, self._models, self._optimizers, self._weights)
            if self._tapes.stretched:
                told["settings"]["loss.stretched"] = self._tapes.stretched
            if self._batches.come_untold:
                told["settings"]["data.kind"] = "tf.data"
        self._recorder.record(
            facts.TrainingStarted(
                wall_time=time.time(),
                step=self._step,
                training=self._fit.training,
                initial_epoch=0,
                planned_steps_per_epoch=self._planned_steps,
                first_step=self._first_step,
                loop="loop",
                **told,
            )
        )

    def started_with_more(self) -> None:
        """Tells it again if more is known by now."""
        if self._known() != self._told_of:
            self.started()

    def so_far(self, epoch: Epoch, planned_steps: int | None) -> None:
        """A loop without epochs is one that goes on: the last word of it counts."""
        rate = self._learning_rate()
        self._recorder.record(
            epoch.so_far(planned_steps=planned_steps, learning_rate=rate)
        )

    def epoch_ended(self, epoch: Epoch, metrics: Mapping[str, Any]) -> None:
        self._recorder.record(epoch.ended(metrics, learning_rate=self._learning_rate()))

    def stopped(self, reason: str) -> None:
        """The program leaves it now, because we asked it to."""
        self._recorder.record(
            facts.StopRequested(
                wall_time=time.time(),
                step=self._step,
                training=self._fit.training,
                epoch=self._fit.epoch,
                callback="watch",
                settings={"stopped_for": reason},
            )
        )

    def ended(self, left: LeftBy | None, *, epochs_done: int) -> None:
        self._recorder.record(
            facts.TrainingEnded(
                wall_time=time.time(),
                step=self._step,
                training=self._fit.training,
                last_step=self._step,
                epochs_done=epochs_done,
                **ending.told(left),
            )
        )

    @property
    def _step(self) -> int:
        return self._recorder.progress.step

    def _known(self) -> tuple[int, str | None, bool]:
        """What may become known while it runs."""
        untold = self._batches.come_untold
        return len(self._weights.variables), self._tapes.stretched, untold

    def _learning_rate(self) -> float | None:
        return learning_rate([one for _, one in self._optimizers])
