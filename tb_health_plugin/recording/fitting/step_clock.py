"""How long the steps of a training take."""

import time

# Weight of the newest step in what is usual: follows a change within some 20 steps.
_NEWEST = 0.1


class StepClock:
    """Told of every step by whoever runs them.

    Attributes:
        first: Seconds of work in the first step, which traces and compiles; on a
            busy machine it waits as long again.
        usual: Seconds of a usual step.
        steps: Steps so far.
    """

    __slots__ = ("_worked_before", "first", "steps", "usual")

    def __init__(self) -> None:
        self._worked_before = time.process_time()
        self.first = 0.0
        self.usual = 0.0
        self.steps = 0

    def took(self, seconds: float) -> None:
        self.steps += 1
        if self.steps == 1:
            self.first = min(seconds, time.process_time() - self._worked_before)
            self.usual = seconds
        elif self.steps == 2:
            self.usual = seconds
        else:
            # One step that hangs must not count as usual.
            self.usual += _NEWEST * (min(seconds, 10 * self.usual) - self.usual)
