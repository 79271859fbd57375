"""How fast counters rose while a training ran: cores in use, bytes a second."""

import numpy as np

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.reading.table import Array


def window(case: Case, training: Training) -> tuple[float, float]:
    """From the first to the last moment of a training, as far as is known."""
    begin = training.started.wall_time
    if training.ended is not None:
        return begin, training.ended.wall_time
    return begin, case.attempt.last_seen_at or begin


def within(case: Case, column: str, begin: float, end: float) -> tuple[Array, Array]:
    """Times and values of a column between two moments."""
    times, values = case.series(column)
    inside = (times >= begin) & (times <= end)
    return times[inside], values[inside]


def rate(case: Case, column: str, begin: float, end: float) -> float | None:
    """Rise of a counter per second; None if it was not seen twice in that time."""
    times, values = within(case, column, begin, end)
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    return max(0.0, float((values[-1] - values[0]) / (times[-1] - times[0])))


def rates(case: Case, column: str, begin: float, end: float) -> tuple[Array, Array]:
    """The same from each sample to the next: moments, and rises per second."""
    times, values = within(case, column, begin, end)
    if len(times) < 2:
        return np.empty(0), np.empty(0)
    passed, rose = np.diff(times), np.diff(values)
    forward = passed > 0
    return times[1:][forward], np.maximum(0.0, rose[forward] / passed[forward])


def last_value(case: Case, column: str) -> float | None:
    _, values = case.series(column)
    return float(values[-1]) if len(values) else None
