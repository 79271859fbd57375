"""What the slow stretches of a GPU cost a training, in its own steps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.reading.table import Array

Mask = npt.NDArray[np.bool_]

# A gap between two samples that is longer was no measuring.
_LONGEST_SECONDS = 60.0
# Less time, or fewer steps, say nothing of a pace.
LEAST_SECONDS = 20.0
FEWEST_STEPS = 20.0


@dataclass(frozen=True, slots=True)
class Cost:
    """How steps went in slow and in other stretches.

    Attributes:
        slowdown: Pace elsewhere over the pace in slow ones.
        lost_steps: Steps that the slow ones would have had at the other pace.
    """

    slowdown: float
    lost_steps: float


def lengths(case: Case) -> Array:
    """Seconds that each sample stands for."""
    times = case.samples.column("wall_time")
    if not len(times):
        return np.empty(0)
    return np.clip(np.diff(times, prepend=times[0]), 0.0, _LONGEST_SECONDS)


def cost(case: Case, slow: Mask, other: Mask) -> Cost | None:
    """Compares the two; None if one of them is too short to tell.

    Args:
        case: The run.
        slow: The samples in question.
        other: Those to compare with.
    """
    seconds, steps = lengths(case), _steps_done(case)
    slow_seconds, other_seconds = seconds[slow].sum(), seconds[other].sum()
    slow_steps, other_steps = steps[slow].sum(), steps[other].sum()
    if min(slow_seconds, other_seconds) < LEAST_SECONDS:
        return None
    if min(slow_steps, other_steps) < FEWEST_STEPS:
        return None
    pace = other_steps / other_seconds
    return Cost(
        slowdown=float(pace * slow_seconds / slow_steps),
        lost_steps=max(0.0, float(pace * slow_seconds - slow_steps)),
    )


def _steps_done(case: Case) -> Array:
    """Steps from the sample before to each sample."""
    steps = case.samples.column("step")
    known = np.isfinite(steps)
    if not known.any():
        return np.zeros(len(steps))
    places = np.arange(len(steps))
    filled = np.interp(places, places[known], steps[known])
    return np.maximum(0.0, np.diff(filled, prepend=filled[0]))
