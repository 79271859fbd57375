"""Records what batches look like, seldom enough to cost next to nothing."""

import time
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.batch_fields import fields_of, numbers_in
from tb_health_plugin.recording.fitting.fit import Fit

WHAT = "what batches look like"
# A wrong scale, a wrong coding or one class only shows in the first few.
FIRST_BATCHES = 3
# What all looks together may cost: this once, and this share of the training.
ALLOWANCE_SECONDS = 0.2
SHARE = 0.001
# Batches that follow each other faster than this are too many to tell apart.
APART_SECONDS = 0.05
# Later ones say less that is new: a look for each thousandth of the time so far.
APART_SHARE = 0.001
# A look at every number of a batch of this size takes some 50 ms.
_MOST_NUMBERS = 1 << 26


class BatchWatch:
    """Looks at batches of one training. Whoever fetches them calls `saw`."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._began_at = time.monotonic()
        self._looked_at = 0.0
        self._looks = 0
        self._spent_seconds = 0.0
        self._last_seconds = 0.0

    def saw(self, batch: Any, step: int, batch_number: int) -> None:
        """Records a batch, unless that would cost too much just now.

        Args:
            batch: What the training step is given.
            step: Steps of the attempt finished when it was fetched.
            batch_number: Its number in the epoch, counted from 0.
        """
        now = time.monotonic()
        if self._fit.guard.is_off(WHAT) or not self._may_look(now):
            return
        with self._fit.guard.protect(WHAT):
            self._record(batch, step, batch_number)
        self._looks += 1
        self._looked_at = time.monotonic()
        self._last_seconds = self._looked_at - now
        self._spent_seconds += self._last_seconds
        self._fit.spent.recording_seconds += self._last_seconds

    def _may_look(self, now: float) -> bool:
        # The next look is taken to cost what the last one did.
        allowed = ALLOWANCE_SECONDS + SHARE * (now - self._began_at)
        if self._spent_seconds + self._last_seconds > allowed:
            return False
        apart = max(APART_SECONDS, APART_SHARE * (now - self._began_at))
        return self._looks < FIRST_BATCHES or now - self._looked_at >= apart

    def _record(self, batch: Any, step: int, batch_number: int) -> None:
        thorough = numbers_in(batch) <= _MOST_NUMBERS
        self._fit.recorder.record(
            facts.BatchSeen(
                wall_time=time.time(),
                step=step,
                training=self._fit.training,
                epoch=self._fit.epoch,
                batch=batch_number,
                fields=fields_of(batch, thorough=thorough),
            )
        )
