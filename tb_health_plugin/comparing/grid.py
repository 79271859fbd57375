"""Lays two series on one grid: a usual number per cell, and how far apart is usual."""

import math
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.reading.table import Array

# Fewer cells than this have no usual spread.
FEWEST_CELLS = 8
# More would find nothing more, and cost time.
MOST_CELLS = 500
# Samples are joined into as many before they are sorted, which costs more.
_MOST_JOINED = 4 * MOST_CELLS
# The course of a signal is its median over this part of the range.
_COURSE_PART = 2
_SHORTEST_COURSE = 5
# From the median of absolute deviations to a standard deviation.
_MAD = 1.4826
# The spread of a few cells is less sure: of eight it is taken 2.5 times as large.
_FEW = 12


@dataclass(frozen=True, slots=True)
class Series:
    """Finite numbers along an axis that never falls."""

    x: Array
    y: Array

    def within(self, low: float, high: float) -> "Series":
        first = int(np.searchsorted(self.x, low, side="left"))
        last = int(np.searchsorted(self.x, high, side="right"))
        return Series(self.x[first:last], self.y[first:last])

    @property
    def places(self) -> int:
        """Samples at the same place, as at a step that takes long, count once."""
        if not len(self.x):
            return 0
        return 1 + int(np.count_nonzero(np.diff(self.x)))


@dataclass(frozen=True, slots=True)
class Grid:
    """Both series by cell, where both have samples.

    Attributes:
        x: Middle of each cell.
        a: Usual number of A in each.
        b: The same of B.
        apart: How far A is from B: the difference, or the logarithm of the ratio.
        spread: How far apart two runs that do the same usually are, alike.
        half: Half the width of a cell.
        cells: How many there are, those without samples included.
    """

    x: Array
    a: Array
    b: Array
    apart: Array
    spread: float
    half: float
    cells: int


def common_range(a: Series, b: Series) -> tuple[float, float] | None:
    """The part of the axis that both cover; None if there is none."""
    if not len(a.x) or not len(b.x):
        return None
    low, high = max(a.x[0], b.x[0]), min(a.x[-1], b.x[-1])
    return (float(low), float(high)) if high > low else None


def lay(a: Series, b: Series, wanted: int, *, log: bool) -> Grid | None:
    """Both on at most `wanted` cells over all of their places; None if too few.

    Args:
        a: One series.
        b: The other one, over the same range.
        wanted: Cells, if there are as many samples.
        log: Compare by ratio where all numbers are positive.
    """
    cells = min(MOST_CELLS, wanted, a.places, b.places)
    shared = common_range(a, b)
    if shared is None or cells < FEWEST_CELLS:
        return None
    edges = np.linspace(*shared, cells + 1)
    of_a, of_b = _by_cell(a, edges), _by_cell(b, edges)
    known = np.isfinite(of_a) & np.isfinite(of_b)
    if known.sum() < FEWEST_CELLS:
        return None
    of_a, of_b = of_a[known], of_b[known]
    as_ratio = log and bool((of_a > 0).all() and (of_b > 0).all())
    in_a, in_b = (np.log(of_a), np.log(of_b)) if as_ratio else (of_a, of_b)
    spreads = _spread(in_a), _spread(in_b)
    return Grid(
        x=((edges[:-1] + edges[1:]) / 2)[known],
        a=of_a,
        b=of_b,
        apart=in_a - in_b,
        spread=_together(*spreads),
        half=float(edges[1] - edges[0]) / 2,
        cells=cells,
    )


def middle(values: Array) -> float:
    """The mean of the middle half: as robust as a median, but not as coarse."""
    ordered = np.sort(values)
    return float(np.mean(ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4]))


def _by_cell(series: Series, edges: Array) -> Array:
    """The middle of each cell; NaN where there is no sample."""
    joined = _joined(series)
    count = len(edges) - 1
    cell = np.clip(np.searchsorted(edges, joined.x, side="right") - 1, 0, count - 1)
    values = joined.y[np.lexsort((joined.y, cell))]
    sizes = np.bincount(cell, minlength=count)
    starts = np.cumsum(sizes) - sizes
    full = sizes > 0
    low = starts[full] + sizes[full] // 4
    high = starts[full] + sizes[full] - sizes[full] // 4
    middles = np.full(count, np.nan)
    # A sum from each low to its high; those from a high to the next low are left out.
    bounds = np.column_stack((low, high)).ravel()
    sums = np.add.reduceat(np.append(values, 0.0), bounds)[::2]
    middles[full] = sums / (high - low)
    return middles


def _joined(series: Series) -> Series:
    length = len(series.x)
    if length <= _MOST_JOINED:
        return series
    starts = (np.arange(_MOST_JOINED) * length // _MOST_JOINED).astype(np.intp)
    sizes = np.diff(np.append(starts, length))
    return Series(
        np.add.reduceat(series.x, starts) / sizes,
        np.add.reduceat(series.y, starts) / sizes,
    )


def _together(a: float, b: float) -> float:
    """The spread of the distance of two runs with these spreads.

    Runs that do the same spread alike. Where one is far wilder than the other, its
    wildness must not hide that they differ.
    """
    calm = min(a, b)
    return math.hypot(min(a, 2 * calm), min(b, 2 * calm))


def _spread(values: Array) -> float:
    """The usual distance from its course, or from its neighbours if that is more."""
    # Second differences, because a slope is no spread.
    step = _MAD * float(np.median(np.abs(np.diff(values, 2)))) / math.sqrt(6)
    window = max(_SHORTEST_COURSE, len(values) // _COURSE_PART) | 1
    padded = np.pad(values, window // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    wander = _MAD * float(np.median(np.abs(values - np.median(windows, axis=1))))
    return max(step, wander) * (1 + _FEW / len(values))
