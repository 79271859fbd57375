"""Where the time of a training went: the stretches it recorded, added up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Training
from tb_health_plugin.events import facts

# Later epochs say more than the first one if they have at least so much.
_LEAST_SECONDS = 2.0
_LEAST_STEPS = 10
# On a CPU what was timed is nearly all; the rest is what Keras does between epochs, and
# what other programs took. If it is less than this, something else took the time.
_NEARLY_ALL = 0.5
# Clocks and rounding: a wait may seem to be so much longer than the time it lies in.
_ROUNDING = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUse:
    """Seconds of the thread that trains, by what it did.

    Attributes:
        seconds: All of it, validation and what we record left out. Without a GPU:
            what was timed, if that is most of it.
        steps: Training steps finished in it.
        waiting: Waiting for batches to train on; None if nobody measured it.
        stepping: Running training steps; None if nobody measured it.
        callbacks: By class.
        saving: Saving the model; part of it may be in a callback, too.
        traces: Times the model was traced; None if nobody counted.
    """

    seconds: float
    steps: int
    waiting: float | None = None
    stepping: float | None = None
    callbacks: Mapping[str, float]
    saving: float = 0.0
    traces: int | None = None

    def share(self, seconds: float | None) -> float:
        """Part of the time; 0 if it was not measured."""
        if not seconds or self.seconds <= 0:
            return 0.0
        return min(1.0, seconds / self.seconds)

    def per_step(self, seconds: float | None) -> float:
        return (seconds or 0.0) / self.steps if self.steps else 0.0


def whole(training: Training) -> TimeUse:
    """All that was recorded of a training."""
    return _sum(training, training.spent)


def steady(training: Training) -> TimeUse:
    """The training without its first epoch, as far as it can be left out.

    The first epoch fills caches, traces the model and warms everything up: what is
    slow in it alone is no problem of the run. Stretches do not end where epochs do,
    so in a short run the waiting is spread evenly over the steps, unless that cannot
    be: then as much of it as fits is put into the first epoch.
    """
    everything = whole(training)
    lengths = [_length(epoch) for epoch in training.epochs]
    if len(lengths) < 2 or not training.spent:
        return everything
    first_end = training.epochs[0].wall_time
    later = _sum(training, [s for s in training.spent if (s.since or 0.0) >= first_end])
    steps = sum(_steps(epoch) for epoch in training.epochs[1:])
    # All of the later epochs, to the step, or enough of them.
    is_all = later.steps == steps
    if later.steps >= _LEAST_STEPS and (is_all or later.seconds >= _LEAST_SECONDS):
        return later
    validation = sum(_positive(s.validation_seconds) for s in training.spent)
    seconds = sum(lengths[1:]) - validation * len(lengths[1:]) / len(lengths)
    seconds -= sum(
        _positive(s.recording_seconds)
        for s in training.spent
        if (s.since or 0.0) >= first_end
    )
    if everything.waiting is None or steps < _LEAST_STEPS or seconds <= 0:
        return everything
    evenly = everything.per_step(everything.waiting) * steps
    if evenly > seconds * _ROUNDING:
        evenly = max(0.0, everything.waiting - lengths[0])
    return TimeUse(
        seconds=seconds,
        steps=steps,
        waiting=min(evenly, seconds),
        stepping=everything.stepping,
        callbacks=everything.callbacks,
        saving=everything.saving,
        traces=everything.traces,
    )


def _sum(training: Training, stretches: Sequence[facts.TimeSpent]) -> TimeUse:
    callbacks: dict[str, float] = {}
    for stretch in stretches:
        for name, seconds in stretch.callback_seconds.items():
            callbacks[name] = callbacks.get(name, 0.0) + _positive(seconds)
    left_out = sum(
        _positive(s.validation_seconds) + _positive(s.recording_seconds)
        for s in stretches
    )
    traces = [s.traces for s in stretches if s.traces is not None]
    seconds = max(0.0, sum(_seconds(s) for s in stretches) - left_out)
    waiting = _total([s.wait_seconds for s in stretches])
    stepping = _total([s.step_seconds for s in stretches])
    saving = sum(_positive(s.save_seconds) for s in stretches)
    # Steps of a GPU go on after the call that started them has returned.
    if waiting is not None and stepping is not None and not training.number("gpus"):
        timed = waiting + stepping + max(saving, sum(callbacks.values()))
        seconds = timed if _NEARLY_ALL * seconds <= timed <= seconds else seconds
    return TimeUse(
        seconds=seconds,
        steps=sum(s.steps or 0 for s in stretches),
        waiting=waiting,
        stepping=stepping,
        callbacks=callbacks,
        saving=saving,
        traces=sum(traces) if traces else None,
    )


def _seconds(stretch: facts.TimeSpent) -> float:
    if stretch.seconds is None and stretch.since is not None:
        return _positive(stretch.wall_time - stretch.since)
    return _positive(stretch.seconds)


def _total(parts: Sequence[float | None]) -> float | None:
    known = [_positive(part) for part in parts if part is not None]
    return sum(known) if known else None


def _positive(seconds: float | None) -> float:
    """Nothing if it is missing, or no time at all."""
    return seconds if seconds and math.isfinite(seconds) and seconds > 0 else 0.0


def _length(epoch: facts.EpochEnded) -> float:
    if epoch.started_at is None:
        return 0.0
    return _positive(epoch.wall_time - epoch.started_at)


def _steps(epoch: facts.EpochEnded) -> int:
    return max(0, (epoch.last_step or 0) - (epoch.first_step or 0))
