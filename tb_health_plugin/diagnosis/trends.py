"""Does a series really rise, or does it only vary? Lines that outliers cannot bend.

A leak rises all the time. What looks like one and is none rises once (a cache that
fills, a model that loads), or goes up and down (garbage, other programs). So a slope
alone is never enough: every part of the series must do its share of the rising.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.reading.table import Array

# A long series is cut into so many blocks, and the median of each is looked at: the
# slopes of all pairs stay cheap, and one odd sample in a block is not seen.
MOST_POINTS = 64
# Below this, chance alone makes a line.
FEWEST_POINTS = 6
# So many parts must each do a share of the rising.
PARTS = 4
# Two jumps of equal height make half of a rise each.
LARGEST_JUMP = 0.4
# Two standard deviations: one series in forty that only varies passes by chance,
# before its parts are looked at.
_SURE = 2.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series, and how well it fits.

    Attributes:
        slope: Change of y per unit of x: the median over all pairs of points.
        lowest_slope: The lowest slope that chance leaves possible.
        change: What the line changes from the first to the last point.
        start: The line at the first point.
        shares: Part of the whole change that lies in each step from one quarter of
            the series to the next; they add up to 1.
        steepest: The largest part of it that lies between two neighbours.
    """

    slope: float
    lowest_slope: float
    change: float
    start: float
    shares: tuple[float, ...]
    steepest: float

    def rises_throughout(self, least_share: float) -> bool:
        """It rises for sure, in each of its parts, and not in one or two jumps."""
        return (
            self.lowest_slope > 0
            and min(self.shares, default=0.0) >= least_share
            and self.steepest <= LARGEST_JUMP
        )


def trend(x: Array, y: Array) -> Trend | None:
    """The line through the points; None if they are too few to tell.

    Args:
        x: What it may grow with: steps, or seconds. Points that go back are left out.
        y: The series; numbers that are not finite are left out.
    """
    size = min(len(x), len(y))
    x, y = np.asarray(x[:size], float), np.asarray(y[:size], float)
    fit = np.isfinite(x) & np.isfinite(y)
    x, y = x[fit], y[fit]
    if len(x):
        forward = x >= np.maximum.accumulate(x)
        x, y = _blocks(x[forward], y[forward])
    if len(x) < FEWEST_POINTS or x[-1] <= x[0]:
        return None
    first, second = np.triu_indices(len(x), 1)
    width = x[second] - x[first]
    apart = width > 0
    slopes = np.sort((y[second] - y[first])[apart] / width[apart])
    if not len(slopes):
        return None
    slope = float(np.median(slopes))
    span = float(x[-1] - x[0])
    start = float(np.median(y - slope * (x - x[0])))
    return Trend(
        slope=slope,
        lowest_slope=_lowest(slopes, len(x)),
        change=slope * span,
        start=start,
        shares=_shares(y),
        steepest=_steepest(y),
    )


def rank_agreement(x: Array, y: Array) -> float:
    """1 if y always rises with x, -1 if it always falls, 0 without any order."""
    size = min(len(x), len(y))
    if size < 2:
        return 0.0
    first, second = np.triu_indices(size, 1)
    signs = np.sign(x[second] - x[first]) * np.sign(y[second] - y[first])
    return float(np.mean(signs))


def _blocks(x: Array, y: Array) -> tuple[Array, Array]:
    if len(x) <= MOST_POINTS:
        return x, y
    parts = np.array_split(np.arange(len(x)), MOST_POINTS)
    return (
        np.array([np.median(x[part]) for part in parts]),
        np.array([np.median(y[part]) for part in parts]),
    )


def _lowest(slopes: Array, points: int) -> float:
    """Sen's lower bound of the slope (J. Am. Stat. Assoc. 63, 1968)."""
    deviation = np.sqrt(points * (points - 1) * (2 * points + 5) / 18)
    rank = int((len(slopes) - _SURE * deviation) / 2)
    return float(slopes[rank]) if rank >= 0 else float("-inf")


def _steepest(y: Array) -> float:
    whole = float(np.median(y[-2:]) - np.median(y[:2]))
    return float(np.max(np.diff(y))) / whole if whole > 0 else float("inf")


def _shares(y: Array) -> tuple[float, ...]:
    levels = [float(np.median(part)) for part in np.array_split(y, PARTS)]
    whole = levels[-1] - levels[0]
    if whole <= 0:
        return (0.0,) * (PARTS - 1)
    return tuple(
        (later - earlier) / whole for earlier, later in itertools.pairwise(levels)
    )
