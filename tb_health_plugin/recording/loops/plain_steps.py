"""Steps of a loop of which only the loss is to be known: most of them, if short.

Whatever is done for a step right after it runs on cold caches. So as little as
possible is, and the rest later, for many steps together.
"""

import math
from collections.abc import Callable
from typing import Any

from tb_health_plugin.recording.loops.budget import FIRST_STEPS

# For so long after a step that was looked at from all sides, plain steps follow.
SECONDS = 0.05
# The first steps are none.
FIRST = 64


class PlainSteps:
    """Keeps the losses of such steps until somebody asks.

    Args:
        add: Given the first step and the losses, when it is time to add them up.

    Attributes:
        until: Up to when steps may be plain, by `time.perf_counter`.
    """

    def __init__(self, add: Callable[[int, list[float]], None]) -> None:
        self._add = add
        self._losses: list[float] = []
        self.until = 0.0

    def may_follow(self, done: int, now: float) -> None:
        """A step was looked at from all sides, and nothing special goes on."""
        self.until = now + SECONDS if done > FIRST else 0.0

    def is_one(self, loss: Any, done: int) -> bool:
        """Keeps the loss of the step with this number; False if it is not plain."""
        if loss is None or done + 1 in FIRST_STEPS:
            return False
        try:
            number = float(loss)
        except (TypeError, ValueError):
            return False
        if not math.isfinite(number):
            return False
        self._losses.append(number)
        return True

    @property
    def last(self) -> float:
        """The newest loss."""
        return self._losses[-1]

    def catch_up(self, step: int) -> None:
        """Adds up what was kept; `step` steps of the attempt are finished."""
        if self._losses:
            losses, self._losses = self._losses, []
            self._add(step - len(losses), losses)
