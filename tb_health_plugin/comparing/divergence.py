"""Finds where two noisy series part, however long and dense each one is.

A difference is a long row of cells of their grid, all on the same side, that are
further apart than the least size that matters, than several times the usual spread, and
than the series are outside of it. The last condition keeps slow wandering from being
told as a difference: noise of a neighbour on the machine, or the luck of a seed.

Of pairs of runs that do the same, less than 1 in 100 is told to differ, noise that
remembers ten samples included. Noise that remembers thirty needs some 600 samples for
that; in shorter runs, which hold but a few of its waves, it is up to 5 in 100.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.comparing.grid import (
    FEWEST_CELLS,
    Grid,
    Series,
    common_range,
    lay,
    middle,
)
from tb_health_plugin.reading.table import Array

# Rare by chance in one cell; many cells in a row on the same side never are.
SPREADS = 4.0
# As many cells in a row must differ, or this share of the common range if that is less.
CELLS_IN_A_ROW = 20
SHARE_IN_A_ROW = 0.1
# A row shorter than this is noise, however short the runs are.
_FEWEST_IN_A_ROW = 5
# Few large cells see through noise, many small ones see where it began.
_FEW_CELLS = 40
# Cells of so many samples are still calm.
_SAMPLES_PER_CELL = 5
# Many runs go wrong just before they stop, in less than one cell of the whole range.
_LAST_PARTS = (0.1, 0.01)
# What is there this early was there from the start.
_START_SHARE = 0.02
# The offset two runs had from the start is taken from this share.
_EARLY_SHARE = 0.2
# A later change this many times the early offset is the better story.
_LARGER_THAN_OFFSET = 2.0
# A difference has begun where it has reached this share of what was noticed.
_BEGUN_SHARE = 0.1
# A difference lasts if it is seen in this share of the cells that follow. From the
# start on it has nothing before it to be larger than, so it must be there throughout.
_LASTING_SHARE = 0.7
_THROUGHOUT_SHARE = 0.9
# How far the series are apart outside of a difference: all but the worst tenth, which
# may be a slow start.
_OUTSIDE_PERCENTILE = 90
# A difference is as many times larger than that; one that goes away again even more.
_LARGER_THAN_OUTSIDE = 2.0
_LARGER_FOR_A_WHILE = 4.0
# A closer look may move the beginning by as many cells of the look before.
_MOVED_CELLS = 3

RULE = (
    f"A signal differs where it is more than {SPREADS:.0f} times its usual spread away "
    f"from the other run, on the same side, for {CELLS_IN_A_ROW} samples in a row or "
    f"{SHARE_IN_A_ROW:.0%} of the common range, further than ever before, and by an "
    "amount that matters."
)


@dataclass(frozen=True, slots=True)
class Measure:
    """What counts as different.

    Attributes:
        least: The least difference that matters, from the usual numbers of A and of B.
        log: Spreads are compared as ratios where all numbers are positive.
    """

    least: Callable[[Array, Array], Array]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two series part.

    Attributes:
        begins: Place on the axis where the difference begins.
        ends: Place where it is over; None if it lasts.
        from_start: It was there all along.
        about: Half the width of what `begins` is exact to.
        x: Places of the cells in which it is there.
        a: Usual numbers of A in those cells.
        b: The same of B.
        a_before: Usual number of A before; None if there is no before.
        b_before: The same of B.
    """

    begins: float
    ends: float | None
    from_start: bool
    about: float
    x: Array
    a: Array
    b: Array
    a_before: float | None
    b_before: float | None

    @property
    def higher(self) -> bool:
        """A is above B."""
        return float(np.median(self.a - self.b)) > 0


def comparable(a: Series, b: Series) -> bool:
    """True if there is enough of both to compare."""
    shared = common_range(a, b)
    if shared is None:
        return False
    return lay(a.within(*shared), b.within(*shared), _FEW_CELLS, log=False) is not None


def first_divergence(a: Series, b: Series, measure: Measure) -> Divergence | None:
    """The first difference that lasts, else the first that is long enough."""
    shared = common_range(a, b)
    if shared is None:
        return None
    found: Divergence | None = None
    looks: list[Grid] = []
    for grid in _looks(a.within(*shared), b.within(*shared), measure):
        # A look as close as the one before sees nothing new.
        if looks and grid.half >= looks[-1].half:
            continue
        looks.append(grid)
        seen = _Search(grid, looks, measure).first()
        if seen is None:
            continue
        if found is None:
            # A closer look knows of no start, only of a later change.
            found = seen if len(looks) == 1 or not seen.from_start else None
        elif _is_same(seen, found, looks[-2].half):
            found = seen
    return found


def usual(series: Series, begin: float, end: float) -> float | None:
    """The usual number in a part of the axis."""
    inside = series.within(begin, end).y
    return middle(inside) if len(inside) else None


def _looks(a: Series, b: Series, measure: Measure) -> Iterator[Grid]:
    """The common range with ever smaller cells, then its end."""
    places = min(a.places, b.places)
    low, high = max(a.x[0], b.x[0]), min(a.x[-1], b.x[-1])
    calm = max(FEWEST_CELLS, places // _SAMPLES_PER_CELL)
    grids = [
        lay(a, b, wanted, log=measure.log)
        for wanted in (min(_FEW_CELLS, calm), calm, places)
    ]
    for part in _LAST_PARTS:
        begin = high - (high - low) * part
        ends = a.within(begin, high), b.within(begin, high)
        grids.append(lay(*ends, places, log=measure.log))
    return (grid for grid in grids if grid is not None)


def _is_same(closer: Divergence, found: Divergence, half: float) -> bool:
    """Whether a closer look sees the same difference, more exactly."""
    return (
        closer.higher == found.higher
        and not closer.from_start
        and (closer.ends is None) == (found.ends is None)
        and abs(closer.begins - found.begins) <= 2 * half * _MOVED_CELLS
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of cells on the same side, from `start` to before `end`."""

    start: int
    end: int
    lasts: bool


class _Search:
    """Looks for a difference on one grid.

    Args:
        grid: Where to look.
        looks: This grid and the wider ones before it: what is usual there is usual
            here, too.
        measure: What counts.
    """

    def __init__(self, grid: Grid, looks: Sequence[Grid], measure: Measure) -> None:
        self._grid = grid
        self._looks = looks
        self._spread = max(look.spread for look in looks)
        self._least = measure.least(grid.a, grid.b)
        in_a_row = min(CELLS_IN_A_ROW, math.ceil(SHARE_IN_A_ROW * grid.cells))
        self._needed = max(_FEWEST_IN_A_ROW, in_a_row)

    def first(self) -> Divergence | None:
        found = self._find(0.0, 0.0)
        if found is not None and not found.from_start:
            return found
        grid = self._grid
        early = slice(0, max(2, int(_EARLY_SHARE * len(grid.x))))
        offset = float(np.median(grid.apart[early]))
        if not _is_level(grid.apart[early], max(self._spread, abs(offset) / 2)):
            # It has been growing all along: that is one difference, not two.
            return found
        later = self._find(offset, float(np.median((grid.a - grid.b)[early])))
        return later if later and not later.from_start else found

    def _find(self, offset: float, raw_offset: float) -> Divergence | None:
        """The first row that is long and far apart enough.

        Args:
            offset: Distance that was there from the start and does not count.
            raw_offset: The same in the unit of the signal.
        """
        grid = self._grid
        apart = grid.apart - offset
        far = max(SPREADS * self._spread, _LARGER_THAN_OFFSET * abs(offset))
        differs = np.abs(apart) > far
        differs &= np.abs(grid.a - grid.b - raw_offset) > self._least
        side = np.where(differs, np.sign(apart), 0.0)
        rows = [
            _Row(start, end, _share(side[start:]) >= _LASTING_SHARE)
            for start, end in _rows(side)
            if end - start >= self._needed
        ]
        rows.sort(key=lambda row: not row.lasts)
        for row in rows:
            begin = _begun(apart, self._spread, row.start)
            if self._is_start(begin) and row.lasts:
                stands_out = _share(side[row.start :]) >= _THROUGHOUT_SHARE
            else:
                stands_out = self._stands_out(apart, row, begin, offset)
            if stands_out:
                return self._divergence(begin, row)
        return None

    def _stands_out(self, apart: Array, row: _Row, begin: int, offset: float) -> bool:
        """Whether the series are far less apart outside of the row, in every look."""
        first = float(self._grid.x[begin])
        last = math.inf if row.lasts else float(self._grid.x[row.end - 1])
        outside = 0.0
        for look in self._looks:
            beyond = (look.x < first) | (look.x > last)
            if beyond.any():
                there = np.abs(look.apart[beyond] - offset)
                outside = max(outside, np.percentile(there, _OUTSIDE_PERCENTILE))
        inside = abs(float(np.median(apart[row.start : self._end(row)])))
        factor = _LARGER_THAN_OUTSIDE if row.lasts else _LARGER_FOR_A_WHILE
        return inside > factor * outside

    def _end(self, row: _Row) -> int:
        return len(self._grid.x) if row.lasts else row.end

    def _is_start(self, cell: int) -> bool:
        return cell <= _START_SHARE * len(self._grid.x)

    def _divergence(self, begin: int, row: _Row) -> Divergence:
        grid = self._grid
        end = self._end(row)
        from_start = self._is_start(begin)
        return Divergence(
            begins=float(grid.x[begin]) - grid.half,
            ends=None if row.lasts else float(grid.x[end - 1]) + grid.half,
            from_start=from_start,
            about=grid.half,
            x=grid.x[begin:end],
            a=grid.a[begin:end],
            b=grid.b[begin:end],
            a_before=None if from_start else float(np.median(grid.a[:begin])),
            b_before=None if from_start else float(np.median(grid.b[:begin])),
        )


def _is_level(apart: Array, most: float) -> bool:
    half = len(apart) // 2
    return bool(abs(np.median(apart[:half]) - np.median(apart[half:])) <= most)


def _begun(apart: Array, spread: float, start: int) -> int:
    """Walks back from where a difference was noticed to where it began."""
    before = apart[:start]
    # A distance that was there all along is no beginning; one that grew all along is.
    level = start > 1 and _is_level(before, spread)
    distance = np.abs(apart[: start + 1] - (np.median(before) if level else 0.0))
    least = max(spread, _BEGUN_SHARE * distance[start])
    near = np.flatnonzero(distance[:start] <= least)
    return int(near[-1]) + 1 if len(near) else 0


def _share(side: Array) -> float:
    """Share of the cells that are on the same side as the first."""
    return float(np.mean(side == side[0]))


def _rows(side: Array) -> Iterator[tuple[int, int]]:
    """First cell and end of each row of cells on the same side."""
    turns = np.flatnonzero(np.diff(side)) + 1
    bounds = [0, *turns.tolist(), len(side)]
    for start, end in itertools.pairwise(bounds):
        if side[start] != 0:
            yield start, end
