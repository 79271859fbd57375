"""One hand-written loop while it runs: counts its steps and drives what is watched."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tb_health_plugin.recording.attempts import Attempt, LeftBy
from tb_health_plugin.recording.fitting.fit import Fit, Part
from tb_health_plugin.recording.fitting.time_spent import TimeSpent
from tb_health_plugin.recording.loops import bad_number, ending, looks, plain_data
from tb_health_plugin.recording.loops.bad_number import BadNumbers, StepSeen
from tb_health_plugin.recording.loops.batches import Batches
from tb_health_plugin.recording.loops.description import saves_of
from tb_health_plugin.recording.loops.eager_losses import EagerLosses
from tb_health_plugin.recording.loops.epoch import Epoch
from tb_health_plugin.recording.loops.gradients import Gradients, scale_of
from tb_health_plugin.recording.loops.looks import Looks
from tb_health_plugin.recording.loops.numbers import is_on_gpu, to_float
from tb_health_plugin.recording.loops.plain_data import PlainData
from tb_health_plugin.recording.loops.plain_steps import PlainSteps
from tb_health_plugin.recording.loops.quick_guard import guarded
from tb_health_plugin.recording.loops.tapes import Tapes
from tb_health_plugin.recording.loops.telling import Telling
from tb_health_plugin.recording.loops.weights import Weights
from tb_health_plugin.recording.process_end import ProcessEnd
from tb_health_plugin.writing.phases import Phase

STEPS = "steps of the loop"
_LOSS = "the loss of each step"
_WEIGHTS = "weights"
_END = "the end of a training"
# The first two steps may trace and compile.
_STEPS_TO_COMPILE = 2
# Longer than this, the wait for data is told before the step has ended.
_SELDOM_SECONDS = 0.1
# How often a loop without epochs says how its loss went so far.
_SUMMARY_SECONDS = 30.0


class Loop:
    """What happens between the beginning and the end of a loop.

    Steps are counted as the program tells them. If it never does, each eager update by
    the busiest optimizer counts, and if there is none, each batch.

    Attributes:
        batches: The data of the loop, as far as it comes through us.
        is_open: It has begun and not ended.
        has_loss: The loss of at least one step was seen.
        count_again: Called before the end, for whoever counts steps for us.
        lost: Called when a loss is NaN or infinite.
    """

    def __init__(
        self,
        attempt: Attempt,
        *,
        models: Sequence[tuple[str, Any]],
        optimizers: Sequence[tuple[str, Any]],
        planned_steps: int | None,
        in_graphs: bool,
        tapes: Tapes | None = None,
    ) -> None:
        self._attempt = attempt
        self._guard, self._recorder = attempt.guard, attempt.recorder
        self._models, self._optimizers = models, list(optimizers)
        self._planned_steps = planned_steps
        self._done = 0
        self._is_told = False
        self._epochs_done = 0
        self._during = "step"
        self._late: tuple[StepSeen, Any] | None = None
        self._loss: Any = None
        self.is_open = False
        self.has_loss = False
        self.count_again: Callable[[], None] = _nothing
        self.lost: Callable[[], None] = _nothing
        fit = Fit(
            recorder=attempt.recorder,
            guard=attempt.guard,
            model=None,
            arguments={},
            params={},
            callbacks=[],
        )
        self._fit = fit
        self._weights = Weights([])
        with self._guard.protect(_WEIGHTS):
            self._weights = Weights(models)
        plain = [one for _, one in optimizers]
        self._tapes = tapes or Tapes(attempt.guard)
        self._gradients = Gradients(
            fit,
            self._weights,
            plain,
            in_graphs=in_graphs,
            # A loop that we began by ourselves hands over no loss.
            traced_loss=self._tapes.take_traced if tapes else _nothing,
            applied=self._applied,
        )
        self._looks = Looks(fit, self._weights, self._gradients, plain)
        self._bad_numbers = BadNumbers(fit, self._weights)
        self._plain = PlainSteps(self._add_losses)
        self._epoch = Epoch(fit, attempt.recorder.progress.step)
        self._time_spent = TimeSpent(fit)
        self._own_parts: list[Part] = [self._time_spent, self._gradients]
        self._own_parts += [] if tapes else [self._tapes]
        self._parts: list[Part] = []
        self.batches = Batches(
            fit, asked=self._asked, got=self._got, ended=self._data_ended
        )
        self._telling = Telling(
            fit,
            models=models,
            optimizers=self._optimizers,
            weights=self._weights,
            batches=self.batches,
            tapes=self._tapes,
            planned_steps=planned_steps,
        )
        self._own_parts.append(
            PlainData(
                fit,
                self.batches,
                asked=self._fetches,
                got=self._got,
                ended=self._fetched_all,
                is_alone=self._is_alone,
            )
        )
        self._own_parts.append(
            EagerLosses(self._guard, self.batches, self._tapes, lambda: self._done)
        )
        self._published_at = 0.0
        self._step_since: float | None = time.perf_counter()
        self._summary_at = time.perf_counter() + _SUMMARY_SECONDS

    @property
    def sees_gradients(self) -> bool:
        """They come eagerly, as numbers."""
        return self._gradients.come_eagerly

    def begin(self) -> None:
        """The loop begins. What cannot be watched is left out."""
        self.is_open = True
        self._attempt.opened(self)
        self._fit.training = self._attempt.trainings
        self._attempt.trainings += 1
        self._recorder.enter(Phase.STARTING)
        self._telling.started()
        for one in self._own_parts:
            self._begin(one)
        for _, model in self._models:
            # A part keeps the model of the moment it begins.
            self._fit.model = model
            with self._guard.protect("saved models"):
                part = saves_of(self._fit)
                if part is not None:
                    self._begin(part)
        self._fit.model = None
        if self._looks.is_due(0, time.perf_counter()):
            guarded(self._guard, looks.WHAT, self._looks.before, 0)

    def given(self, data: Any) -> None:
        """The loop is going to train on `data`."""
        self._during = "other"
        self._fit.arguments = {"x": data}
        self._telling.started()
        self._fit.arguments = {}

    def follow(self, name: str, optimizer: Any) -> None:
        """It turns out that another optimizer belongs to the loop."""
        self._optimizers.append((name, optimizer))
        self._gradients.follow(optimizer)
        self._telling.started()

    def counted(self, done: int) -> None:
        """So many steps have ended, as somebody counted who saw none of them.

        May be called by another thread than the one that trains.
        """
        if self._is_told or self._gradients.come_eagerly:
            done = self._done
        progress = self._recorder.progress
        progress.step += max(0, done - self._done)
        self._done = max(self._done, done)
        guarded(self._guard, looks.WHAT, self._look_inside)
        self._recorder.enter(self._phase())
        self._time_spent.tick()

    def _look_inside(self) -> None:
        """Reads what functions left of the step that has ended just now."""
        loss, gradients = self._gradients.inside()
        step = self._recorder.progress.step
        # Of several models, one number would mix the losses.
        if loss is not None and len(self._optimizers) == 1:
            self.has_loss = True
            self._recorder.progress.loss = loss
            self._epoch.add(step - 1, loss)
        if gradients.norms:
            self._looks.inside(step - 1, loss, gradients)

    def paused(self, phase: Phase) -> None:
        """No step came for a while."""
        if self._recorder.progress.phase != phase:
            self._recorder.enter(phase)

    def told(self, loss: Any, metrics: Mapping[str, Any]) -> None:
        """The program says that a step has ended."""
        self._is_told = True
        if metrics:
            self._epoch.metrics = metrics
        self._finish(loss)

    def epoch_ended(self, metrics: Mapping[str, Any]) -> None:
        """The program says that an epoch has ended."""
        self._catch_up()
        self._read_late()
        self._epochs_done += 1
        self._telling.epoch_ended(self._epoch, metrics)
        self._fit.epoch += 1
        self._recorder.progress.epoch = self._fit.epoch
        self._fit.epoch_first_step = self._recorder.progress.step
        self._epoch = Epoch(self._fit, self._recorder.progress.step)
        self._recorder.enter(Phase.BETWEEN_EPOCHS)
        self._time_spent.tick(epoch_ended=True)

    def stopped(self, reason: str) -> None:
        """The program leaves it now, because we asked it to."""
        self._telling.stopped(reason)

    def end(self, error: BaseException | None = None) -> None:
        """The loop was left, by an exception or not."""
        left = None
        with self._guard.protect(_END):
            if error is not None:
                is_data = self.batches.failed_with == id(error)
                left = ending.left_by(error, "data" if is_data else self._during)
        self._close(left)

    def process_ends(self, end: ProcessEnd) -> None:
        """The process ends, and this loop with it."""
        self._close(ending.left_with(end, self._during))

    def cell_failed(self, end: ProcessEnd) -> None:
        """Its own `with` has seen what left it, or it goes on in the next cell."""

    def _begin(self, part: Part) -> None:
        with self._guard.protect(f"a part of a loop ({type(part).__name__})"):
            # First: a part that fails halfway has things to undo.
            self._parts.append(part)
            part.begin()

    # What happens while it runs

    def _asked(self) -> None:
        """The loop asks for its next batch: it is done with the one before."""
        is_counted_otherwise = self._is_told or self._gradients.come_eagerly
        if not is_counted_otherwise and self.batches.seen > self._done:
            self._finish(None)
        self._during = "data"
        self._step_since = None
        if self._recorder.progress.phase == Phase.BETWEEN_EPOCHS:
            self._recorder.enter(self._phase())

    def _fetches(self) -> None:
        """The loop fetches by itself: it is not in a step meanwhile."""
        if self._step_since is not None:
            spent = self._fit.spent
            seconds = time.perf_counter() - self._step_since
            spent.step_seconds = (spent.step_seconds or 0.0) + seconds
            self._step_since = None
        self._during = "data"

    def _fetched_all(self) -> None:
        """What follows is no longer about the data."""
        self._during = "other"

    def _is_alone(self) -> bool:
        return all(training is self for training in self._attempt.open)

    def _got(self) -> None:
        self._during = "step"
        now = time.perf_counter()
        self._step_since = now
        # Else the end of the step tells it.
        if now - self._published_at > _SELDOM_SECONDS:
            self._published_at = now
            self._recorder.publish()

    def _data_ended(self) -> None:
        self._during = "other"
        self._recorder.enter(Phase.BETWEEN_EPOCHS)

    def _applied(self, calls: int) -> None:
        """An eager update begins: the step of the one before has ended."""
        if self._is_told:
            return
        if self._is_alone() and calls - 1 > self._done:
            self._finish(self._loss)
        self._loss = self._loss_of_the_tape()

    def _loss_of_the_tape(self) -> Any:
        """What the update that begins comes from; None if that is not the loss."""
        loss = self._tapes.take_loss()
        if len(self._optimizers) != 1:
            # One number would mix the losses of several models.
            return None
        # Scaled, it overflows now and then, and means nothing.
        return None if scale_of(self._optimizers[0][1]) is not None else loss

    def _finish(self, loss: Any) -> None:
        began = time.perf_counter()
        spent = self._fit.spent
        guarded(self._guard, plain_data.WHAT, self.batches.step_followed)
        if self._step_since is not None:
            spent.step_seconds = (spent.step_seconds or 0.0) + began - self._step_since
        if not self._is_plain(loss, began):
            self._look_from_all_sides(loss, began)
        ended = time.perf_counter()
        spent.recording_seconds += ended - began
        # With data of ours, a step begins when its batch is there.
        self._step_since = None if self.batches.seen else ended

    def _look_from_all_sides(self, loss: Any, began: float) -> None:
        self._catch_up()
        self._read_late()
        progress = self._recorder.progress
        step = progress.step
        is_looked_at = self._looks.is_open(self._done)
        seen = StepSeen(
            step=step,
            loss=None,
            gradients=self._gradients.take(look_ends=is_looked_at),
            batch=self.batches.last,
        )
        self._done += 1
        progress.step = step + 1
        if loss is not None and is_on_gpu(loss) and not is_looked_at:
            # By the next step it is there, and nobody has to wait for it.
            self._late = (seen, loss)
        elif loss is not None:
            guarded(self._guard, _LOSS, self._read_loss, seen, loss)
        self._published_at = began
        self._recorder.enter(self._phase())
        if is_looked_at:
            guarded(self._guard, looks.WHAT, self._look, seen)
        if self._late is None:
            guarded(self._guard, bad_number.WHAT, self._bad_numbers.saw, seen, began)
        if self._looks.is_due(self._done, began):
            guarded(self._guard, looks.WHAT, self._looks.before, self._done)
        self._time_spent.tick()
        if began > self._summary_at and not self._epochs_done:
            self._summary_at = began + _SUMMARY_SECONDS
            self._telling.so_far(self._epoch, None)
        if self._late is None and not self._looks.is_under_way:
            self._plain.may_follow(self._done, time.perf_counter())

    def _is_plain(self, loss: Any, now: float) -> bool:
        """Notes a step of which only its loss is to be known; False if it is not."""
        if (
            now >= self._plain.until
            or self._gradients.step is not None
            or self._guard.is_off(_LOSS)
            or not self._plain.is_one(loss, self._done)
        ):
            return False
        self._done += 1
        progress = self._recorder.progress
        progress.step += 1
        progress.loss = self._plain.last
        self._recorder.publish()
        return True

    def _catch_up(self) -> None:
        step = self._recorder.progress.step
        guarded(self._guard, _LOSS, self._plain.catch_up, step)

    def _add_losses(self, first: int, losses: list[float]) -> None:
        for step, loss in enumerate(losses, first):
            self._epoch.add(step, loss)
        self._bad_numbers.were_fine(first, losses)

    def _phase(self) -> Phase:
        return Phase.STARTING if self._done < _STEPS_TO_COMPILE else Phase.TRAINING

    def _read_loss(self, seen: StepSeen, loss: Any) -> None:
        seen.loss = to_float(loss)
        self.has_loss = True
        self._recorder.progress.loss = seen.loss
        self._epoch.add(seen.step, seen.loss)
        if not math.isfinite(seen.loss):
            self.lost()

    def _read_late(self) -> None:
        """Reads the loss of the step before, which a GPU still worked on."""
        if self._late is not None:
            (seen, loss), self._late = self._late, None
            now = time.perf_counter()
            guarded(self._guard, _LOSS, self._read_loss, seen, loss)
            guarded(self._guard, bad_number.WHAT, self._bad_numbers.saw, seen, now)

    def _look(self, seen: StepSeen) -> None:
        # A model may make its variables when it is first called.
        self._weights.refresh()
        self._telling.started_with_more()
        self._looks.after(seen.step, seen.loss, seen.gradients)

    def _close(self, left: LeftBy | None) -> None:
        if not self.is_open:
            return
        with self._guard.protect(_END):
            self.count_again()
        self.is_open = False
        with self._guard.protect(_END):
            self._last_words(is_complete=left is None)
        while self._parts:
            part = self._parts.pop()
            with self._guard.protect(f"a part of a loop ({type(part).__name__})"):
                part.end()
        self._attempt.closed(self, left)
        with self._guard.protect(_END):
            self._recorder.enter(Phase.NOT_TRAINING)
            self._telling.ended(left, epochs_done=self._epochs_done)

    def _last_words(self, *, is_complete: bool) -> None:
        self._catch_up()
        self._read_late()
        if not self._is_told:
            # An update that came back is a step, whatever struck afterwards.
            counted = max(self._gradients.done, default=0)
            if is_complete:
                counted = counted or self.batches.seen
            if counted > self._done:
                self._finish(self._loss)
        if self._done and not self._epochs_done:
            planned = self._planned_steps
            # Left early on purpose is not the same as out of data.
            is_known = self.batches.ran_out or self._done >= (planned or 0)
            self._telling.so_far(self._epoch, planned if is_known else None)


def _nothing() -> None:
    pass
