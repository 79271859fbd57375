"""How much of a training's time close looks may take."""

import time
import weakref
from typing import Any

# What looks may take at the beginning, when there is no time yet to take a share of.
FIXED_SECONDS = 0.4
# What they may take of the time a training has run: a third of what all recording may
# take together.
SHARE = 0.003
# A program that calls `fit` again and again gets this share of the call before,
# instead of the fixed time each time.
AGAIN_SHARE = 0.05


class Allowance:
    """Counts the time of looks against the time of all trainings of a recording.

    Attributes:
        was_used: Somebody has looked.
    """

    def __init__(self) -> None:
        self._fixed = FIXED_SECONDS
        self._spent = 0.0
        self._trained = 0.0
        self._began_at: float | None = None
        self.was_used = False

    def open(self) -> None:
        """A training begins."""
        self._began_at = time.perf_counter()

    def close(self) -> None:
        """It ended."""
        if self._began_at is not None:
            seconds = time.perf_counter() - self._began_at
            self._trained += seconds
            self._fixed += min(FIXED_SECONDS, AGAIN_SHARE * seconds)
            self._began_at = None

    def spend(self, seconds: float) -> None:
        self._spent += seconds
        self.was_used = True

    def missing(self, cost: float, *, times: float = 1.0) -> float:
        """Seconds of training until `cost` is covered; at most 0 if it is now.

        Args:
            cost: Seconds that a look would take.
            times: By how much the share is raised, because something is going on.
        """
        short = self._spent + cost - self._fixed
        return short / (SHARE * times) - self._elapsed()

    def _elapsed(self) -> float:
        under_way = 0.0
        if self._began_at is not None:
            under_way = time.perf_counter() - self._began_at
        return self._trained + under_way


_allowances: "weakref.WeakKeyDictionary[Any, Allowance]" = weakref.WeakKeyDictionary()


def allowance_of(recorder: Any) -> Allowance:
    """The one that all trainings of a recording share."""
    return _allowances.setdefault(recorder, Allowance())
