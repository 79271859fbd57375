"""What happens around every training step: time is counted, batches are looked at."""

from collections.abc import Callable
from typing import Any

from tb_health_plugin.recording.fitting.bad_numbers import BadNumbers
from tb_health_plugin.recording.fitting.batch_watch import FIRST_BATCHES, BatchWatch
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.inspection import NEVER, Inspection
from tb_health_plugin.recording.fitting.recent_steps import RecentSteps, Seen
from tb_health_plugin.recording.fitting.step_clock import StepClock

WHAT = "the time that steps wait for data"
_WHAT_RECENT = "the last steps before a bad number"
_WHAT_END = "a last look at the training"


class StepWatch:
    """Called before and after every step of one training.

    Args:
        fit: The training.
        step: The program's own training step.

    Attributes:
        clock: Knows how long steps take.
    """

    def __init__(self, fit: Fit, step: Callable[[Any], Any]) -> None:
        self._fit = fit
        self._progress = fit.recorder.progress
        self._strategy = fit.model.distribute_strategy
        self._is_spread = self._strategy.num_replicas_in_sync > 1
        self._step = fit.recorder.progress.step
        self._number = 0
        self._rows = 0
        self._epoch: int | None = None
        self._spec: Any = None
        self._looked_at: Seen | None = None
        self.clock = StepClock()
        self._batches = BatchWatch(fit)
        self._batch_due = 0
        self._recent = RecentSteps(fit.model, self.clock, self._took)
        self._inspection = Inspection(fit, self.clock)
        self._inspection.begin()
        self._schedule = self._inspection.schedule
        self._bad_numbers = BadNumbers(
            fit, self._inspection, self._recent, lambda batch: step(iter((batch,)))
        )
        self._due = 0

    def before(self, batch: Any, iterator: Any) -> None:
        """A step is about to be given `batch`, which came out of `iterator`."""
        fit = self._fit
        if fit.guard.is_off(WHAT):
            return
        with fit.guard.protect(WHAT):
            if fit.epoch != self._epoch:
                self._epoch = fit.epoch
                self._step = max(self._step, fit.epoch_first_step)
            loss, schedule = self._progress.loss, self._schedule
            if loss < schedule.lowest_loss or loss > schedule.alarm_above:
                schedule.saw_loss(self._number, loss)
                self._due = min(self._due, self._inspection.due)
            if self._number >= self._due or fit.nonfinite_at is not None:
                self._spec = iterator.element_spec
                self._attend(batch)
            self._recent.saw(self._step, fit.epoch, batch)

    def next_one(self, batch: Any, ahead: int) -> None:
        """The same execution goes on with the batch `ahead` of the first one."""
        fit = self._fit
        if not fit.guard.is_off(WHAT):
            with fit.guard.protect(WHAT):
                self._recent.saw(self._step + ahead, fit.epoch, batch)

    def after(
        self, batch: Any, logs: Any, wait: float, seconds: float, steps: int = 1
    ) -> None:
        """Steps ended.

        Args:
            batch: The first one.
            logs: What the last step reported.
            wait: Seconds they waited for batches.
            seconds: Seconds they ran.
            steps: How many.
        """
        fit = self._fit
        if fit.guard.is_off(WHAT):
            return
        with fit.guard.protect(WHAT):
            self._rows = self._rows_of(batch)
            self._count(wait, seconds, steps * self._rows)
            self._number += steps
            self._step += steps
            self.clock.took(seconds / steps)
            if self._looked_at is not None:
                self._looked(logs, alone=steps == 1)

    def unseen(self, wait: float, seconds: float, steps: int) -> None:
        """Steps ended whose batches nobody saw; `wait` is an estimate."""
        fit = self._fit
        if fit.guard.is_off(WHAT):
            return
        with fit.guard.protect(WHAT):
            self._recent.forget("single steps of an execution are not seen")
            if self._rows:
                # As large as the last one that was seen, presumably.
                self._count(wait, seconds, steps * self._rows)
            self._number += steps
            self._step += steps
            self.clock.took(seconds / steps)

    def failed(self) -> None:
        """The step raised."""
        self._looked_at = None
        self._inspection.abandon()

    def end(self, *, is_trainer: bool) -> None:
        """The training ended.

        Args:
            is_trainer: False if this is another thread than the one that trains.
        """
        self.failed()
        error = getattr(self._fit.raised, "error", None)
        if is_trainer and not isinstance(error, KeyboardInterrupt | SystemExit):
            with self._fit.guard.protect(_WHAT_END):
                self._last_looks(is_whole=error is None)
        self._recent.stop()
        self._inspection.end()

    def _rows_of(self, batch: Any) -> int:
        """Examples in a batch: the size of its first tensor."""
        while isinstance(batch, tuple | list | dict):
            batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
        if not self._is_spread:
            return int(batch.shape[0] or 0)
        parts = self._strategy.experimental_local_results(batch)
        return sum(int(part.shape[0] or 0) for part in parts)

    def _count(self, wait: float, seconds: float, examples: int) -> None:
        spent, progress = self._fit.spent, self._progress
        spent.wait_seconds = (spent.wait_seconds or 0.0) + wait
        spent.step_seconds = (spent.step_seconds or 0.0) + seconds
        spent.examples = (spent.examples or 0) + examples
        so_far = progress.wait_seconds
        # It is not a number until the first wait was measured.
        progress.wait_seconds = so_far + wait if so_far >= 0 else wait

    def _attend(self, batch: Any) -> None:
        """Does what is due before this step."""
        fit, step, number = self._fit, self._step, self._number
        if fit.nonfinite_at is not None and not self._bad_numbers.is_done:
            self._bad_numbers.search(fit.nonfinite_at, self._spec)
        if self._bad_numbers.is_done:
            self._inspection.is_possible = False
        if number >= self._recent.due:
            with fit.guard.protect(_WHAT_RECENT):
                self._recent.keep_state(step, number, batch)
            if fit.guard.is_off(_WHAT_RECENT):
                self._recent.stop()
        is_look = number >= self._inspection.due
        if is_look or number >= self._batch_due:
            self._batches.saw(batch, step, step - fit.epoch_first_step)
        if number >= self._batch_due:
            self._batch_due = self._next_batch(number)
        if is_look:
            self._inspection.before(batch, self._spec, step, number)
            if self._inspection.is_under_way:
                self._looked_at = Seen(step, fit.epoch, batch)
        self._due = min(self._recent.due, self._batch_due, self._inspection.due)

    def _next_batch(self, number: int) -> int:
        """The first few, then fewer and fewer of the first epoch."""
        if number + 1 < FIRST_BATCHES:
            return number + 1
        is_first_epoch = self._step == self._fit.epoch_first_step + number
        return 2 * number if is_first_epoch else NEVER

    def _looked(self, logs: Any, *, alone: bool) -> None:
        look = self._inspection.after(logs, alone=alone)
        seen, self._looked_at = self._looked_at, None
        if look is not None and seen is not None:
            self._bad_numbers.saw(seen, look, self._spec)
        self._due = min(self._due, self._inspection.due)

    def _last_looks(self, *, is_whole: bool) -> None:
        bad_step, spec = self._fit.nonfinite_at, self._spec
        if bad_step is not None and not self._bad_numbers.is_done:
            self._bad_numbers.search(bad_step, spec)
        if is_whole and self._number:
            self._bad_numbers.check_weights(self._step - 1, spec)
        batches = self._recent.batches()
        if is_whole and bad_step is None and batches:
            last = batches[-1]
            self._inspection.last_chance(last.batch, spec, self._step, self._number)

    def _took(self, seconds: float) -> None:
        self._fit.spent.recording_seconds += seconds
