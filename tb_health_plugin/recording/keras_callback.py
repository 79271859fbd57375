"""The one line: `model.fit(..., callbacks=[HealthCallback("logs/run1")])`."""

import functools
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras

from tb_health_plugin.events import facts
from tb_health_plugin.recording.attempts import Attempt, attempt_for
from tb_health_plugin.recording.recorder import PERIOD_SECONDS
from tb_health_plugin.writing.phases import Phase

_WHAT = "steps and epochs"
_STEPS_TO_COMPILE = 2


def _safely(method: Callable[..., None]) -> Any:
    """No fault in a hook of ours reaches `fit`."""

    @functools.wraps(method)
    def call(self: "HealthCallback", *args: Any, **kwargs: Any) -> None:
        guard = self._attempt.guard
        if not guard.is_off(_WHAT):
            with guard.protect(_WHAT):
                method(self, *args, **kwargs)

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

    Raises:
        ValueError: `logdir` cannot be used; the message says why. After that,
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
    ) -> None:
        super().__init__()
        if not period_seconds > 0:
            raise ValueError(
                f"period_seconds={period_seconds!r} must be a number above 0"
            )
        self._attempt = attempt_for(
            logdir, period_seconds=period_seconds, watcher=watcher
        )
        self._logdir = os.fspath(logdir)
        self._options: dict[str, Any] = {
            "period_seconds": period_seconds,
            "watcher": watcher,
        }
        self._training: int | None = None
        self._epoch = 0
        self._epochs_done = 0
        self._epoch_started_at = 0.0
        self._epoch_first_step = 0
        self._first_step = 0
        self._phase_before = Phase.NOT_TRAINING

    def __reduce__(self) -> Any:
        """A copy records into the same attempt; tuners copy callbacks per trial."""
        return functools.partial(HealthCallback, **self._options), (self._logdir,)

    @_safely
    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        self._attempt.under_way = True
        self._training = None
        self._epochs_done = 0
        self._attempt.recorder.enter(Phase.STARTING)

    @_safely
    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        progress = self._attempt.recorder.progress
        self._epoch = epoch
        self._epoch_started_at = time.time()
        self._epoch_first_step = progress.step
        progress.epoch = epoch
        if self._training is None:
            # Only now is it known with which epoch this training begins.
            self._record_training_start(epoch)
        self._attempt.recorder.publish()

    @_safely
    def on_train_batch_begin(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        self._steps_of_epoch(batch)
        recorder = self._attempt.recorder
        # The first two steps of a training may trace and compile.
        is_young = recorder.progress.step < self._first_step + _STEPS_TO_COMPILE
        recorder.enter(Phase.STARTING if is_young else Phase.TRAINING)

    @_safely
    def on_train_batch_end(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        self._steps_of_epoch(batch + 1)
        loss = (logs or {}).get("loss")
        if loss is not None:
            self._attempt.recorder.progress.loss = loss
        self._attempt.recorder.publish()

    @_safely
    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        self._phase_before = Phase(self._attempt.recorder.progress.phase)
        self._attempt.recorder.enter(Phase.VALIDATION_STARTING)

    @_safely
    def on_test_batch_end(
        self, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        self._attempt.recorder.enter(Phase.VALIDATION)

    @_safely
    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        within_fit = self._attempt.under_way
        after = Phase.BETWEEN_EPOCHS if within_fit else self._phase_before
        self._attempt.recorder.enter(after)

    @_safely
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._epochs_done += 1
        recorder = self._attempt.recorder
        recorder.enter(Phase.BETWEEN_EPOCHS)
        recorder.record(
            facts.EpochEnded(
                wall_time=time.time(),
                step=recorder.progress.step,
                training=self._training,
                epoch=epoch,
                first_step=self._epoch_first_step,
                last_step=recorder.progress.step,
                planned_steps=self._params().get("steps"),
                started_at=self._epoch_started_at,
                metrics=_numbers(logs or {}),
            )
        )

    @_safely
    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        self._attempt.under_way = False
        recorder = self._attempt.recorder
        recorder.enter(Phase.NOT_TRAINING)
        recorder.record(
            facts.TrainingEnded(
                wall_time=time.time(),
                step=recorder.progress.step,
                training=self._training,
                last_step=recorder.progress.step,
                epochs_done=self._epochs_done,
            )
        )

    def records_into(self, attempt: Attempt) -> bool:
        """True if it is this recording that gets the steps."""
        return self._attempt is attempt

    def _record_training_start(self, initial_epoch: int) -> None:
        recorder = self._attempt.recorder
        self._training = self._attempt.trainings
        self._attempt.trainings += 1
        self._first_step = recorder.progress.step
        recorder.record(
            facts.TrainingStarted(
                wall_time=time.time(),
                step=recorder.progress.step,
                training=self._training,
                model=self.model.name,
                initial_epoch=initial_epoch,
                planned_epochs=self._params().get("epochs"),
                planned_steps_per_epoch=self._params().get("steps"),
                first_step=recorder.progress.step,
                trainable_parameters=_trainable_parameters(self.model),
            )
        )

    def _steps_of_epoch(self, done: int) -> None:
        # Calls may come out of order from threads of Keras: steps only go up.
        progress = self._attempt.recorder.progress
        progress.step = max(progress.step, self._epoch_first_step + done)

    def _params(self) -> Mapping[str, Any]:
        return self.params or {}


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, value in logs.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return found


def _trainable_parameters(model: Any) -> int | None:
    if not model.built:
        return None
    return sum(_size(variable.shape) for variable in model.trainable_variables)


def _size(shape: Any) -> int:
    return functools.reduce(lambda a, b: a * b, shape, 1)
