"""Joins samples into as many buckets as a screen can show, and loses no spike."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_health_plugin.reading.table import TIME, Array, Table, measured

# Sampling that paused for longer than this many periods is shown as a gap.
GAP_PERIODS = 5

Numbers = list[float | None]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Line:
    """One column by bucket; None where nothing was measured."""

    mean: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, slots=True)
class Points:
    """What to draw. Where the sampling paused, a bucket without numbers stands.

    Attributes:
        samples: How many samples were joined.
        bucketed: A bucket holds more than one sample.
        time: Middle of each bucket, strictly rising.
        step: Training step at the bucket's end.
        lines: By column.
    """

    samples: int
    bucketed: bool
    time: list[float]
    step: list[int]
    lines: dict[str, Line]


def downsample(
    table: Table,
    columns: list[str],
    *,
    axis: str,
    begin: float,
    end: float,
    buckets: int,
    period_seconds: float,
) -> Points:
    """The samples with any of `columns` whose `axis` lies in [begin, end].

    Args:
        table: Where they are.
        columns: What to draw.
        axis: "time" or "step".
        begin: First value of the axis.
        end: Last value of the axis.
        buckets: As many points at most, pauses aside.
        period_seconds: Time between two samples as planned; 0: unknown, no pauses.
    """
    rows = _rows(table, columns, axis, begin, end)
    if not len(rows):
        empty = {name: Line([], [], []) for name in columns}
        return Points(0, False, [], [], empty)
    time = table.column(TIME)[rows]
    count = min(len(rows), buckets)
    starts = (np.arange(count) * len(rows) // count).astype(np.intp)
    ends = np.append(starts[1:], len(rows)) - 1
    gaps = _gaps(time, starts, period_seconds)
    step = table.column("step")[rows]
    step = np.where(measured(step), step, 0.0)[ends]
    return Points(
        samples=len(rows),
        bucketed=count < len(rows),
        time=_bridge((time[starts] + time[ends]) / 2, gaps),
        step=[int(value) for value in _hold(step, gaps)],
        lines={name: _line(table.column(name)[rows], starts, gaps) for name in columns},
    )


def _rows(
    table: Table, columns: list[str], axis: str, begin: float, end: float
) -> Positions:
    time = table.column(TIME)
    along = time if axis == "time" else table.column("step")
    wanted = (along >= begin) & (along <= end)
    wanted &= np.any([measured(table.column(name)) for name in columns], axis=0)
    # A clock may be set back; what is drawn must rise.
    highest = np.maximum.accumulate(time)
    wanted[1:] &= time[1:] > highest[:-1]
    return np.flatnonzero(wanted)


def _line(values: Array, starts: Positions, gaps: Positions) -> Line:
    known = measured(values)
    count = np.add.reduceat(known.astype(np.float64), starts)
    total = np.add.reduceat(np.where(known, values, 0.0), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        low = np.fmin.reduceat(values, starts)
        high = np.fmax.reduceat(values, starts)
    present = count > 0
    return Line(*(_numbers(part, present, gaps) for part in (mean, low, high)))


def _numbers(values: Array, present: npt.NDArray[np.bool_], gaps: Positions) -> Numbers:
    numbers: Numbers = [
        value if known else None
        for value, known in zip(values.tolist(), present.tolist(), strict=True)
    ]
    for gap in reversed(gaps.tolist()):
        numbers.insert(gap, None)
    return numbers


def _gaps(time: Array, starts: Positions, period_seconds: float) -> Positions:
    """Before which buckets the sampling paused."""
    if period_seconds <= 0:
        return np.empty(0, np.intp)
    pauses = np.flatnonzero(np.diff(time) > GAP_PERIODS * period_seconds) + 1
    gaps = np.unique(np.searchsorted(starts, pauses, side="left"))
    return gaps[gaps < len(starts)]


def _bridge(time: Array, gaps: Positions) -> list[float]:
    """Gives every gap a time of its own, between its neighbours."""
    middles = (time[np.maximum(gaps - 1, 0)] + time[gaps]) / 2
    result: list[float] = np.insert(time, gaps, middles).tolist()
    return result


def _hold(step: Array, gaps: Positions) -> list[float]:
    result: list[float] = np.insert(step, gaps, step[np.maximum(gaps - 1, 0)]).tolist()
    return result
