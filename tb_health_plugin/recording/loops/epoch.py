"""The losses of one epoch of a loop, or of all of it if the loop knows no epochs."""

import math
import time
from collections.abc import Mapping
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.losses import Losses
from tb_health_plugin.recording.loops.numbers import to_float


class Epoch:
    """Collects losses, and says what became of them.

    Args:
        fit: The training.
        first_step: Steps of the attempt that were finished when it began.
    """

    def __init__(self, fit: Fit, first_step: int) -> None:
        self._fit = fit
        self._first_step = first_step
        self._began_at = time.time()
        self._losses = Losses(None, is_running_mean=False)
        self._last: float | None = None
        self._sum = 0.0
        self._count = 0
        self.metrics: Mapping[str, Any] = {}

    def add(self, step: int, loss: float) -> None:
        """The loss of a step; its number in the attempt, counted from 0."""
        self._last = loss
        self._sum += loss
        self._count += 1
        # One NaN would make all parts after it NaN.
        if math.isfinite(loss):
            self._losses.report(step + 1 - self._first_step, loss)

    def ended(
        self,
        metrics: Mapping[str, Any],
        *,
        planned_steps: int | None = None,
        learning_rate: float | None = None,
    ) -> facts.EpochEnded:
        """The epoch up to now; the loss is its mean unless `metrics` says it."""
        mean = self._sum / self._count if self._count else None
        return self._told(mean, metrics, planned_steps, learning_rate)

    def so_far(
        self, *, planned_steps: int | None = None, learning_rate: float | None = None
    ) -> facts.EpochEnded:
        """A loop without epochs up to now; the loss is that of its last part.

        Told again and again with the same number: the last one counts.
        """
        loss = self._last
        profile = self._losses.profile()
        if profile and loss is not None and math.isfinite(loss):
            loss = profile[-1]
        return self._told(loss, self.metrics, planned_steps, learning_rate)

    def _told(
        self,
        loss: float | None,
        metrics: Mapping[str, Any],
        planned_steps: int | None,
        learning_rate: float | None,
    ) -> facts.EpochEnded:
        told = {} if loss is None else {"loss": loss}
        step = self._fit.recorder.progress.step
        return facts.EpochEnded(
            wall_time=time.time(),
            step=step,
            training=self._fit.training,
            epoch=self._fit.epoch,
            first_step=self._first_step,
            last_step=step,
            planned_steps=planned_steps,
            started_at=self._began_at,
            metrics={**told, **_numbers(metrics)},
            loss_profile=self._losses.profile(),
            lowest_loss=self._losses.lowest,
            highest_loss=self._losses.highest,
            learning_rate=learning_rate,
        )


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, value in metrics.items():
        try:
            found[name] = to_float(value)
        except (TypeError, ValueError):
            continue
    return found
