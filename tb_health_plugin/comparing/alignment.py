"""Where in a run a sample lies: by step, by time, by epoch, or from the end."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tb_health_plugin.comparing.grid import Series
from tb_health_plugin.comparing.signals import Track
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Array

Align = Literal["step", "time", "epoch", "end"]
ALIGNS: tuple[Align, ...] = get_args(Align)

# A run of a million epochs needs no knot for each of them.
_MOST_KNOTS = 500


@dataclass(frozen=True, slots=True)
class Clock:
    """How steps, times and epochs of one run belong together.

    Attributes:
        started_at: Its first sign of life.
        ended_at: Its last sign of life.
        last_step: Its last step.
        epoch_steps: Steps at which epochs began or ended, rising.
        epochs: Epochs that were done by then.
    """

    started_at: float
    ended_at: float
    last_step: int
    epoch_steps: tuple[float, ...]
    epochs: tuple[float, ...]

    def has(self, align: Align) -> bool:
        if align == "step":
            return self.last_step > 0
        return align != "epoch" or len(self.epochs) > 1

    def x(self, align: Align, time: Array, step: Array) -> Array:
        """Places on the axis."""
        if align == "step":
            return step
        if align == "epoch":
            return np.interp(step, self.epoch_steps, self.epochs)
        return time - (self.started_at if align == "time" else self.ended_at)


def clock_of(attempt: Attempt) -> Clock:
    """The clock of an attempt."""
    knots = {0.0: 0.0}
    done = 0.0
    steps = 0.0
    for epoch in attempt.all(facts.EpochEnded):
        if epoch.last_step is None or epoch.last_step <= max(knots):
            continue
        steps = epoch.last_step - max(knots)
        done += 1.0
        knots[float(epoch.last_step)] = done
    begun = attempt.last(facts.TrainingStarted)
    steps = float((begun and begun.planned_steps_per_epoch) or steps)
    last = float(attempt.last_step)
    if steps > 0 and last > max(knots):
        knots[last] = done + (last - max(knots)) / steps
    every = -(-len(knots) // _MOST_KNOTS)
    places = sorted(knots)
    kept = sorted({*places[::every], places[-1]})
    return Clock(
        started_at=attempt.started_at or 0.0,
        ended_at=attempt.last_seen_at or 0.0,
        last_step=attempt.last_step,
        epoch_steps=tuple(kept),
        epochs=tuple(knots[place] for place in kept),
    )


@dataclass(frozen=True, slots=True)
class Bad:
    """The first number of a track that is not finite, and its place."""

    x: float
    value: float


def place(track: Track, clock: Clock, align: Align) -> tuple[Series, Bad | None]:
    """A track on the axis, and its first number that is not finite.

    What comes before the first step, or after the last, has no place on an axis of
    steps. Where steps run again, the first time counts.
    """
    x = clock.x(align, track.time, track.step)
    rising = x >= np.maximum.accumulate(x) if len(x) else np.empty(0, bool)
    if align in ("step", "epoch"):
        rising &= track.step > 0
        last = np.flatnonzero(track.step == track.step.max(initial=0.0))
        rising[last[1:]] = False
    x, value = x[rising], track.value[rising]
    finite = np.isfinite(value)
    first = np.flatnonzero(~finite)[:1].tolist()
    bad = Bad(float(x[first[0]]), float(value[first[0]])) if first else None
    return Series(x[finite], value[finite]), bad
