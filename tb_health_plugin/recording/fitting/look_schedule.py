"""When to look closely at a step: often at first, then as time allows."""

import math

from tb_health_plugin.recording.fitting.allowance import Allowance

# Steps before which to look first, as far as the time allows.
FIRST_LOOKS = (1, 3, 10, 30, 100)
# Later looks are at least this far apart, and this share of the time so far, so that
# a week of training leaves some thousand of them.
APART_SECONDS = 1.0
APART_SHARE = 0.005
# Danger: a loss this many times the lowest, or a gradient this many times the last.
DANGER_FACTOR = 10.0
# How many looks in a row then follow, and how much more time they may take.
DANGER_LOOKS = 20
DANGER_TIMES = 5.0
# A recording without any look knows little: until the first one, more is saved up.
FIRST_TIMES = 2.0
# A look that waits for time to come is asked for again after at most so many steps.
_MOST_STEPS = 10_000


class LookSchedule:
    """Tells the step before which to look next.

    Attributes:
        due: Number of that step in this training, counted from 0.
        lowest_loss: Lowest loss so far; a lower one goes to `saw_loss`.
        alarm_above: So does a loss above this.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self.lowest_loss = math.inf
        self._last_norm = math.nan
        self._alarm = 0
        self._looks = 0
        self.due = FIRST_LOOKS[0]
        self.alarm_above = math.inf

    def may_look(self, step: int, cost: float, step_seconds: float) -> bool:
        """False if there is no time yet for a look; `due` then says when to ask."""
        times = DANGER_TIMES if self._alarm else 1.0 if self._looks else FIRST_TIMES
        missing = self._allowance.missing(cost, times=times)
        if missing <= 0:
            return True
        self.due = step + _steps(missing, step_seconds)
        return False

    def looked(
        self, step: int, elapsed: float, step_seconds: float, norm: float
    ) -> None:
        """A look was made before `step`, `elapsed` seconds into the training."""
        self._looks += 1
        self._alarm = max(0, self._alarm - 1)
        if norm > DANGER_FACTOR * self._last_norm > 0:
            self._alarm = DANGER_LOOKS
        self._last_norm = norm
        if self._alarm:
            self.due = step + 1
            return
        for planned in FIRST_LOOKS:
            if planned > step:
                self.due = planned
                return
        apart = max(APART_SECONDS, APART_SHARE * elapsed)
        self.due = step + _steps(apart, step_seconds)

    def saw_loss(self, step: int, loss: float) -> None:
        """The loss as last reported; called when it is low or high enough to matter."""
        if loss < self.lowest_loss:
            self.lowest_loss = loss
            self.alarm_above = DANGER_FACTOR * loss if loss > 0 else math.inf
        elif loss > self.alarm_above:
            # Once per level: a loss that stays high is no news.
            self.alarm_above = DANGER_FACTOR * loss
            self._alarm = DANGER_LOOKS
            self.due = step


def _steps(seconds: float, step_seconds: float) -> int:
    return max(1, min(_MOST_STEPS, math.ceil(seconds / max(step_seconds, 1e-6))))
