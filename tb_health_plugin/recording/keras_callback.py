"""The one line: `model.fit(..., callbacks=[HealthCallback("logs/run1")])`."""

import dataclasses
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras

from tb_health_plugin.events import facts
from tb_health_plugin.recording.attempts import Attempt, attempt_for
from tb_health_plugin.recording.fitting.fit_watch import FitWatch
from tb_health_plugin.recording.fitting.losses import Losses, tells_running_mean
from tb_health_plugin.recording.fitting.model_facts import describe, describe_model
from tb_health_plugin.recording.own_summary import summary_of
from tb_health_plugin.recording.reactions import Listener, Reactions
from tb_health_plugin.recording.recorder import PERIOD_SECONDS
from tb_health_plugin.writing.phases import Phase

_WHAT = "steps and epochs"
_STEPS_TO_COMPILE = 2
# Before 3.11 Keras calls with the first batch of those that it ran in one go.
_TELLS_FIRST = tuple(map(int, keras.__version__.split(".")[:2])) < (3, 11)


def _safely(method: Callable[..., None]) -> Any:
    """No fault in a hook of ours reaches `fit`."""

    @functools.wraps(method)
    def call(self: "HealthCallback", *args: Any, **kwargs: Any) -> None:
        guard = self._attempt.guard
        if not guard.is_off(_WHAT):
            began = time.perf_counter()
            with guard.protect(_WHAT):
                method(self, *args, **kwargs)
            self._spent(time.perf_counter() - began)

    return call


class HealthCallback(keras.callbacks.Callback):
    """Records the health of a Keras training for TensorBoard's Training Health tab.

    Its place in the list of callbacks does not matter. Several `fit` calls, with
    this callback or another one for the same log directory, make one story.

    Args:
        logdir: The run's directory, the same that other TensorBoard writers of
            the run use. Made if it is missing.
        period_seconds: Time between two samples of memory and progress.
        watcher: Start a small process that watches from outside, so that a kill, a
            crash or a hang is seen too. It ends with the training.
        rules: Silences rules or tunes their numbers for this run, as in
            `{"overfitting": "off", "input_bound.warning_share": 0.8}`. `tb-health
            explain` lists rules, `tb-health explain input_bound` its numbers.
        stop_on: Stop the training when one of these is found: "nan" for a loss that is
            no number, ids of verdicts, or families of them. See docs/reactions.md.
        save_before_stop: Save the model there before it is stopped so.
        on_finding: Called with a dict for each finding that opens, changes or closes;
            or a command as a list of words, which gets the same as JSON.

    Raises:
        ValueError: One of these cannot be used; the message says why. After that,
            nothing of ours ever raises into the training.
    """

    # Keras may call us from a thread of its own, so that a step never waits.
    async_safe = True

    def __init__(
        self,
        logdir: "str | os.PathLike[str]",
        *,
        period_seconds: float = PERIOD_SECONDS,
        watcher: bool = True,
        rules: Mapping[str, Any] | None = None,
        stop_on: Sequence[str] = (),
        save_before_stop: "str | os.PathLike[str] | None" = None,
        on_finding: "Listener | Sequence[str] | None" = None,
    ) -> None:
        super().__init__()
        if not period_seconds > 0:
            raise ValueError(
                f"period_seconds={period_seconds!r} must be a number above 0"
            )
        self._reactions = Reactions(stop_on, save_before_stop, on_finding)
        self._attempt = attempt_for(
            logdir, period_seconds=period_seconds, watcher=watcher, rules=rules
        )
        self._logdir = os.fspath(logdir)
        self._options: dict[str, Any] = {
            "period_seconds": period_seconds,
            "watcher": watcher,
            "rules": rules,
            "stop_on": stop_on,
            "save_before_stop": save_before_stop,
            "on_finding": on_finding,
        }
        self._watch: FitWatch | None = None
        self._epoch: _Epoch | None = None
        self._first_step = 0
        self._half_known: facts.TrainingStarted | None = None
        self._planned_validation_steps: int | None = None
        self._validated_since = 0.0
        self._validated_steps = 0
        self._phase_before = Phase.NOT_TRAINING

    def __reduce__(self) -> Any:
        """A copy records into the same attempt; tuners copy callbacks per trial."""
        return functools.partial(HealthCallback, **self._options), (self._logdir,)

    @_safely
    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        self._attempt.recorder.enter(Phase.STARTING)
        frame = sys._getframe()
        if self._watch is not None:
            self._watch.left()
        for other in list(self._attempt.open):
            if isinstance(other, FitWatch) and not other.runs_in(frame):
                other.left()
        self._epoch = None
        self._watch = FitWatch(
            self._attempt, self.model, self._params(), frame, at_return=self._finish
        )
        self._watch.begin()
        self._reactions.begin(self._attempt)

    @_safely
    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        progress = self._attempt.recorder.progress
        progress.epoch = epoch
        watch = self._watch
        if watch is not None:
            watch.fit.epoch = epoch
            watch.fit.epoch_first_step = progress.step
            if watch.fit.training is None:
                # Only now is it known with which epoch this training begins.
                self._record_training_start(watch, epoch)
        self._epoch = _Epoch(
            first_step=progress.step,
            losses=Losses(
                self._params().get("steps"),
                is_running_mean=tells_running_mean(self.model),
            ),
        )
        self._attempt.recorder.publish()

    @_safely
    def on_train_batch_begin(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        self._steps_of_epoch(batch)
        if self._watch is not None and not self._watch.is_open:
            self._watch.went_on()
        recorder = self._attempt.recorder
        if self._half_known is not None and batch > 0:
            self._tell_start_again(self._half_known)
        # The first two steps of a training may trace and compile.
        if self._reactions.stop_for is not None:
            self._stop()
        is_young = recorder.progress.step < self._first_step + _STEPS_TO_COMPILE
        recorder.enter(Phase.STARTING if is_young else Phase.TRAINING)

    @_safely
    def on_train_batch_end(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        batch = self._last_of(batch)
        self._steps_of_epoch(batch + 1)
        recorder = self._attempt.recorder
        loss = _loss(logs or {})
        if loss is not None:
            recorder.progress.loss = loss
            self._follow_loss(batch, loss)
        recorder.publish()
        if self._watch is not None:
            self._watch.time_spent.tick()

    @_safely
    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        self._validated_since = time.perf_counter()
        self._validated_steps = 0
        self._phase_before = Phase(self._attempt.recorder.progress.phase)
        self._attempt.recorder.enter(Phase.VALIDATION_STARTING)

    @_safely
    def on_test_batch_end(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        self._validated_steps = max(self._validated_steps, batch + 1)
        self._attempt.recorder.enter(Phase.VALIDATION)

    @_safely
    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        watch = self._watch
        if watch is None or not watch.is_open:
            self._attempt.recorder.enter(self._phase_before)
            return
        spent = watch.fit.spent
        spent.validation_seconds += time.perf_counter() - self._validated_since
        spent.validation_steps += self._validated_steps
        if self._epoch is not None:
            self._epoch.validation_steps = self._validated_steps
        self._attempt.recorder.enter(Phase.BETWEEN_EPOCHS)

    @_safely
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        recorder = self._attempt.recorder
        recorder.enter(Phase.BETWEEN_EPOCHS)
        if self._watch is None or self._epoch is None:
            return
        self._watch.epochs_done += 1
        recorder.record(self._epoch_ended(self._watch, self._epoch, epoch, logs or {}))
        self._watch.time_spent.tick(epoch_ended=True)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        if self._watch is None or not self._watch.sees_return:
            self._finish()

    def _stop(self) -> None:
        """Does what the user asked for; the public flag ends the training."""
        reason = self._reactions.carry_out(self.model, self._attempt.guard)
        # Goes into the record with the stop, like any plain setting of a callback.
        self.stopped_for = reason
        self.model.stop_training = True

    def _finish(self) -> None:
        self._reactions.end(self._attempt)
        self._returned()
        # Also when a hook failed before: nothing of ours stays in the model.
        watch, self._watch = self._watch, None
        if watch is not None and watch.is_open:
            with self._attempt.guard.protect(_WHAT):
                watch.abandon()

    @_safely
    def _returned(self) -> None:
        if self._watch is not None:
            self._watch.returned()

    def summary(self) -> Any:
        """What is said of this run by now; a notebook shows it in the cell."""
        return summary_of(self._logdir, self._attempt)

    def records_into(self, attempt: Attempt) -> bool:
        """True if it is this recording that gets the steps."""
        return self._attempt is attempt

    def _record_training_start(self, watch: FitWatch, initial_epoch: int) -> None:
        recorder = self._attempt.recorder
        watch.fit.training = self._attempt.trainings
        self._attempt.trainings += 1
        self._first_step = recorder.progress.step
        described: dict[str, Any] = {}
        with self._attempt.guard.protect("settings of the training"):
            described = describe(watch.fit)
        watch.forget_data()
        self._planned_validation_steps = described.get("planned_validation_steps")
        started = facts.TrainingStarted(
            wall_time=time.time(),
            step=recorder.progress.step,
            training=watch.fit.training,
            model=self.model.name,
            initial_epoch=initial_epoch,
            planned_epochs=self._params().get("epochs"),
            planned_steps_per_epoch=self._params().get("steps"),
            first_step=recorder.progress.step,
            loop="fit",
            **described,
        )
        recorder.record(started)
        # Some models are built by their first step.
        is_known = self.model.built and started.trainable_parameters is not None
        self._half_known = None if is_known else started

    def _tell_start_again(self, started: facts.TrainingStarted) -> None:
        """The model is built by now: the same start with its layers and variables."""
        self._half_known = None
        if self._watch is not None:
            known = describe_model(self._watch.fit)
            self._attempt.recorder.record(dataclasses.replace(started, **known))

    def _epoch_ended(
        self, watch: FitWatch, done: "_Epoch", epoch: int, logs: Mapping[str, Any]
    ) -> facts.EpochEnded:
        step = self._attempt.recorder.progress.step
        return facts.EpochEnded(
            wall_time=time.time(),
            step=step,
            training=watch.fit.training,
            epoch=epoch,
            first_step=done.first_step,
            last_step=step,
            planned_steps=self._params().get("steps"),
            started_at=done.started_at,
            metrics=_numbers(logs),
            validation_steps=done.validation_steps,
            planned_validation_steps=self._planned_validation_steps,
            loss_profile=done.losses.profile(),
            lowest_loss=done.losses.lowest,
            highest_loss=done.losses.highest,
            learning_rate=_learning_rate(self.model),
        )

    def _follow_loss(self, batch: int, loss: float) -> None:
        if self._epoch is None or self._watch is None:
            return
        self._epoch.losses.report(batch + 1, loss)
        fit = self._watch.fit
        if fit.nonfinite_at is None and not math.isfinite(loss):
            fit.nonfinite_at = self._epoch.first_step + batch
            self._reactions.saw_nan()

    def _last_of(self, batch: int) -> int:
        """The last batch of those that were run in one go."""
        if not _TELLS_FIRST:
            return batch
        last = batch + int(getattr(self.model, "steps_per_execution", 1)) - 1
        planned = self._params().get("steps")
        return last if planned is None else max(batch, min(last, planned - 1))

    def _steps_of_epoch(self, done: int) -> None:
        # Calls may come out of order from threads of Keras: steps only go up.
        progress = self._attempt.recorder.progress
        first = self._epoch.first_step if self._epoch else progress.step
        progress.step = max(progress.step, first + done)

    def _spent(self, seconds: float) -> None:
        if self._watch is not None and self._watch.is_this_thread():
            self._watch.fit.spent.recording_seconds += seconds

    def _params(self) -> Mapping[str, Any]:
        return self.params or {}


@dataclass(slots=True, kw_only=True)
class _Epoch:
    """The epoch under way."""

    first_step: int
    losses: Losses
    started_at: float = field(default_factory=time.time)
    validation_steps: int | None = None


def _loss(logs: Mapping[str, Any]) -> float | None:
    """The loss; of a model with its own `train_step`, the first number called so."""
    found = logs.get("loss")
    if found is None:
        found = next((logs[name] for name in logs if name.endswith("loss")), None)
    return float(found) if isinstance(found, int | float) else None


def _learning_rate(model: Any) -> float | None:
    try:
        return float(model.optimizer.learning_rate)
    except (AttributeError, TypeError, ValueError):
        return None


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, value in logs.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return found
