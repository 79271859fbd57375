"""How often a loop may be looked at, so that looking stays a small part of its time."""

import time

# Shares of the loop's time: for close looks at single steps, for a check of all
# gradients of an eager step, and for a glance at the weights after a step.
LOOK_SHARE = 0.005
CHECK_SHARE = 0.004
PROBE_SHARE = 0.002
# The first looks are at these steps: what is wrong from the start shows there, and
# each costs about as much as a step, so that they stay a small part together.
FIRST_STEPS = frozenset({0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000})
# Until a loop has run for a while, a share of its time buys nothing: this is free.
FREE_LOOK_SECONDS = 0.2
FREE_CHECK_SECONDS = 0.01
# Closer than this, two looks tell the same. Far into a run they may be further apart:
# a fiftieth of its time keeps the number of looks of a week near 500.
LEAST_SECONDS = 10.0
LEAST_SHARE = 1 / 50


class Budget:
    """Seconds that may be spent on something that repeats.

    Attributes:
        spent: Seconds so far.
    """

    def __init__(self, share: float, *, free_seconds: float) -> None:
        self.spent = 0.0
        self._share = share
        self._free = free_seconds
        self._began = time.perf_counter()

    def allows(self, now: float) -> bool:
        """True if what was spent is within the share of the time until `now`."""
        return self.spent <= self._free + self._share * (now - self._began)

    def age(self, now: float) -> float:
        return now - self._began


class LookSchedule:
    """At which steps to look closely."""

    def __init__(self) -> None:
        self.budget = Budget(LOOK_SHARE, free_seconds=FREE_LOOK_SECONDS)
        self._last = time.perf_counter()

    def is_due(self, step: int, now: float) -> bool:
        """True if the step with this number, counted from 0, is to be looked at."""
        if not self.budget.allows(now):
            return False
        apart = max(LEAST_SECONDS, LEAST_SHARE * self.budget.age(now))
        if step not in FIRST_STEPS and now - self._last < apart:
            return False
        self._last = now
        return True
