"""The loss of single batches and parts of an epoch, from the running mean Keras tells.

Keras reports the mean since the epoch began. With mean m after k steps, the batches
between two reports had a mean loss of (k2*m2 - k1*m1) / (k2 - k1).
"""

import itertools
import math
import threading
from typing import Any

# Parts of an epoch: enough to see a shape, few enough to keep for every epoch.
PARTS = 64
# Means come as 32-bit floats, so a difference of two carries an error of about
# k * 6e-8 of the loss. A stretch must be longer than this share of the steps so far
# for the error to stay below one percent.
SHORTEST_STRETCH = 6e-6


class Losses:
    """Follows the loss through one epoch.

    Args:
        planned_steps: Steps of the epoch, if known.
        is_running_mean: False if a report is the loss of a batch by itself.
    """

    def __init__(self, planned_steps: int | None, *, is_running_mean: bool) -> None:
        planned = planned_steps or PARTS
        self._part_steps = max(1, math.ceil(planned / PARTS))
        self._is_running_mean = is_running_mean
        # Keras may report from several of its threads.
        self._lock = threading.Lock()
        self._step = 0
        self._total = 0.0
        # Steps and summed loss at the end of each part.
        self._marks: list[tuple[int, float]] = [(0, 0.0)]
        self._stretch: tuple[int, float] = (0, 0.0)
        self.lowest: float | None = None
        self.highest: float | None = None

    def report(self, step: int, loss: float) -> None:
        """The loss as reported after `step` steps of the epoch."""
        with self._lock:
            new = step - self._step
            if new <= 0:
                return
            if self._is_running_mean:
                self._total = step * loss
            else:
                self._total += new * loss
            self._step = step
            self._extremes()
            if step - self._marks[-1][0] >= self._part_steps:
                self._mark()

    def profile(self) -> tuple[float, ...]:
        """The mean loss of up to `PARTS` parts of equal length, in their order."""
        with self._lock:
            marks = list(self._marks)
            if self._step > marks[-1][0]:
                # A rest after the last whole part counts with it.
                del marks[PARTS:]
                marks.append((self._step, self._total))
        return tuple(_mean(a, b) for a, b in itertools.pairwise(marks))

    def _extremes(self) -> None:
        now = (self._step, self._total)
        if now[0] - self._stretch[0] < self._step * SHORTEST_STRETCH:
            return
        loss = _mean(self._stretch, now)
        self._stretch = now
        if math.isnan(loss):
            return
        if self.lowest is None or loss < self.lowest:
            self.lowest = loss
        if self.highest is None or loss > self.highest:
            self.highest = loss

    def _mark(self) -> None:
        if len(self._marks) > PARTS:
            # More steps than were planned for: half the parts, twice as long.
            self._marks = self._marks[::2]
            self._part_steps *= 2
            if self._step - self._marks[-1][0] < self._part_steps:
                return
        self._marks.append((self._step, self._total))


def _mean(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])


def tells_running_mean(model: Any) -> bool:
    """True if `loss` in a report is Keras' own mean.

    A program with its own `train_step` may report anything, mostly one batch.
    """
    step = getattr(type(model), "train_step", None)
    module: str = getattr(step, "__module__", "") or ""
    return module.partition(".")[0] == "keras"
