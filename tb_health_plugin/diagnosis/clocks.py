"""How far the clocks of workers are apart, told by the steps they finished together."""

from collections.abc import Mapping, Sequence

import numpy as np

from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Array

# Samples are a second apart, so a smaller difference is none.
LEAST_SECONDS = 2.0
# Fewer common moments, or ones that disagree more, tell nothing.
_LEAST_MOMENTS = 5
_MOST_MOMENTS = 200
_MOST_SPREAD_SECONDS = 2.0


def ahead(attempts: Sequence[Attempt]) -> Mapping[str, float | None]:
    """Seconds that each clock is ahead of the first one's, by attempt.

    Workers in step finish each step in the same moment, so their clocks differ by
    what they say about it. None: it cannot be told. Less than what a sample can show
    is 0.
    """
    if not attempts:
        return {}
    first = attempts[0]
    reference = _finished(first)
    return {one.id: _difference(first, reference, one) for one in attempts}


def _difference(
    first: Attempt, reference: tuple[Array, Array], other: Attempt
) -> float | None:
    if other is first or _same_machine(first, other):
        return 0.0
    steps, times = reference
    own_steps, own_times = _finished(other)
    if not len(steps) or not len(own_steps):
        return None
    common = steps[(steps >= own_steps[0]) & (steps <= own_steps[-1])]
    if len(common) < _LEAST_MOMENTS:
        return None
    common = common[:: max(1, len(common) // _MOST_MOMENTS)]
    apart = np.interp(common, own_steps, own_times) - np.interp(common, steps, times)
    low, middle, high = np.percentile(apart, (25, 50, 75))
    if high - low > _MOST_SPREAD_SECONDS:
        return None
    return float(middle) if abs(middle) >= LEAST_SECONDS else 0.0


def _same_machine(one: Attempt, other: Attempt) -> bool:
    """Since the same boot of the same machine: one clock."""
    boots = [a.start.boot_id if a.start else None for a in (one, other)]
    return boots[0] is not None and boots[0] == boots[1]


def _finished(attempt: Attempt) -> tuple[Array, Array]:
    """Steps, rising, and when each of them was first seen to be finished."""
    steps, times = attempt.samples.column("step"), attempt.samples.column(TIME)
    known = np.isfinite(steps) & (steps > 0)
    found, where = np.unique(steps[known], return_index=True)
    return found, times[known][where]
