"""Says when something that grows will reach its limit; silent when nothing grows.

A straight line is asked for, not guessed: the recent past is cut into blocks, and only
if every block is above the one before, at about the same pace, is there a trend. What
rises once and stays (a cache that fills, a model that loads) or goes up and down (page
cache, garbage) is none.
"""

import itertools
from collections import deque
from dataclasses import dataclass

# So much of the past is looked at. Shorter, and every start-up would look like a leak.
WINDOW_SECONDS = 300.0
BLOCKS = 6
# The paces of two blocks may differ by so much and still be one line.
STEADY_FACTOR = 2.5
# Growth below this share of the limit within the window is noise.
LEAST_GROWTH = 0.01
# What lies further away than this is not worth a word.
HORIZON_SECONDS = 24 * 3_600.0
# A new estimate is told when it differs by so much from the last one told.
WORTH_TELLING = 0.25


@dataclass(frozen=True, slots=True)
class Estimate:
    """When the limit will be reached.

    Attributes:
        seconds: From now, at the pace of the whole window.
        earliest_seconds: At the fastest pace seen in it.
        latest_seconds: At the slowest.
        per_second: Growth, in the unit of the quantity.
    """

    seconds: float
    earliest_seconds: float
    latest_seconds: float
    per_second: float


class Forecast:
    """Follows one quantity.

    Args:
        what: Its name, in words a user knows.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._past: deque[tuple[float, float]] = deque()
        self._told: Estimate | None = None
        self._told_at = 0.0

    def add(self, now: float, value: float, limit: float) -> Estimate | None:
        """Takes a sample; returns an estimate if there is a new one to tell."""
        self._past.append((now, value))
        while self._past[0][0] < now - WINDOW_SECONDS:
            self._past.popleft()
        estimate = self._estimate(now, value, limit)
        if estimate is None:
            self._told = None
            return None
        if self._told is not None and not self._is_news(estimate, now):
            return None
        self._told, self._told_at = estimate, now
        return estimate

    def _is_news(self, estimate: Estimate, now: float) -> bool:
        assert self._told is not None
        expected = self._told.seconds - (now - self._told_at)
        return abs(estimate.seconds - expected) > WORTH_TELLING * max(expected, 1.0)

    def _estimate(self, now: float, value: float, limit: float) -> Estimate | None:
        # Nearly the whole window must be there: a young run has no trend yet.
        if now - self._past[0][0] < 0.95 * WINDOW_SECONDS:
            return None
        paces = self._paces(now)
        if not paces or min(paces) <= 0 or max(paces) > STEADY_FACTOR * min(paces):
            return None
        pace = sum(paces) / len(paces)
        left = max(0.0, limit - value)
        if (
            pace * WINDOW_SECONDS < LEAST_GROWTH * limit
            or left / pace > HORIZON_SECONDS
        ):
            return None
        return Estimate(left / pace, left / max(paces), left / min(paces), pace)

    def _paces(self, now: float) -> list[float]:
        """Growth per second from each block to the next; empty if one has no sample."""
        blocks: list[list[tuple[float, float]]] = [[] for _ in range(BLOCKS)]
        for at, value in self._past:
            share = (at - now + WINDOW_SECONDS) / WINDOW_SECONDS
            blocks[min(BLOCKS - 1, int(share * BLOCKS))].append((at, value))
        if not all(blocks):
            return []
        means = [_mean(block) for block in blocks]
        return [
            (later[1] - earlier[1]) / (later[0] - earlier[0])
            for earlier, later in itertools.pairwise(means)
        ]


def _mean(block: list[tuple[float, float]]) -> tuple[float, float]:
    """Mean time and mean value."""
    return (
        sum(at for at, _ in block) / len(block),
        sum(value for _, value in block) / len(block),
    )
