"""One call of `fit`, watched from its beginning to its end, however it ends.

Keras does not call `on_train_end` when an exception leaves `fit`. Parts note most of
those on their way out. For all others, the list of callbacks that `fit` makes tells:
it goes when the call of `fit` goes.
"""

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.attempts import Attempt, LeftBy
from tb_health_plugin.recording.fitting import parts as all_parts
from tb_health_plugin.recording.fitting.fit import Fit, Part, Raised
from tb_health_plugin.recording.fitting.fit_frame import lists_running, see_call
from tb_health_plugin.recording.fitting.time_spent import TimeSpent
from tb_health_plugin.recording.process_end import ProcessEnd
from tb_health_plugin.recording.traces import ErrorWords, Place, words_of
from tb_health_plugin.writing.phases import Phase

_WHAT = "the end of a training"
_ON_TRAIN_END = "on_train_end"
# How Keras' own loop learns that the data has ended.
_END_OF_DATA = ("StopIteration", "OutOfRangeError")
# In the message of what came out of a data pipeline: the operation that reads from it.
_FETCHES = "IteratorGetNext"
_DURING = {
    Phase.STARTING: "step",
    Phase.TRAINING: "step",
    Phase.VALIDATION_STARTING: "validation",
    Phase.VALIDATION: "validation",
}


class _ToldFit(Fit):
    """A fit that tells as soon as a part has seen an exception."""

    __slots__ = ("told",)

    told: Callable[[Raised], None]

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "raised" and value is not None:
            with self.guard.protect(_WHAT):
                self.told(value)
            # Not kept: it would keep the call of `fit` and its data alive.
            object.__setattr__(self, name, None)


class FitWatch:
    """Begins the parts, ends them, and records how the training ended.

    Args:
        attempt: What it belongs to.
        model: The model that trains.
        params: What Keras tells callbacks.
        frame: The frame in which Keras told us that it begins; not kept.
        at_return: Called when all callbacks were told of the end.

    Attributes:
        sees_return: `at_return` will be called.
        fit: What the parts share.
        is_open: It has begun, and no end is known.
        epochs_done: Epochs that ended.
        time_spent: Told whenever the training goes on.
    """

    def __init__(
        self,
        attempt: Attempt,
        model: Any,
        params: Mapping[str, Any],
        frame: FrameType,
        at_return: Callable[[], None],
    ) -> None:
        self._attempt = attempt
        self._thread = threading.get_ident()
        seen = see_call(frame, model)
        self._is_seen = bool(seen.arguments)
        callbacks = seen.callback_list
        self.fit = _ToldFit(
            recorder=attempt.recorder,
            guard=attempt.guard,
            model=model,
            arguments=seen.arguments,
            params=params,
            callbacks=list(callbacks.callbacks) if callbacks is not None else [],
        )
        self.fit.told = self._raised
        self.epochs_done = 0
        self.time_spent = TimeSpent(self.fit)
        self._parts: list[Part] = []
        self.is_open = False
        self._left_by: LeftBy | None = None
        self._list = _reference(callbacks)
        self._finalizer: weakref.finalize[..., Any] | None = None
        self.sees_return = False
        if callbacks is not None:
            self._finalizer = weakref.finalize(callbacks, self._list_is_gone)
            # At the end of the program `process_ends` is called, at the right moment.
            self._finalizer.atexit = False
            self.sees_return = _AfterTheLast.follow(callbacks, at_return)

    def begin(self) -> None:
        """The training begins. Each part that cannot is left out."""
        self.is_open = True
        self._attempt.opened(self)
        self._begin(lambda fit: self.time_spent)
        for maker in all_parts.PARTS:
            self._begin(maker)

    def _begin(self, maker: Callable[[Fit], Part | None]) -> None:
        what = f"a part of a training ({getattr(maker, '__name__', maker)})"
        with self.fit.guard.protect(what):
            part = maker(self.fit)
            if part is not None:
                # First: a part that fails halfway has things to undo.
                self._parts.append(part)
                part.begin()

    def forget_data(self) -> None:
        """Lets go of what `fit` was called with; only plain settings stay."""
        self.fit.arguments = {
            name: value
            for name, value in self.fit.arguments.items()
            if isinstance(value, bool | int | float | str)
        }

    def went_on(self) -> None:
        """An exception that seemed to leave `fit` did not: a callback caught it."""
        self.is_open = True
        self._left_by = None
        self._attempt.opened(self)

    def abandon(self) -> None:
        """Ends the parts without a word, because something of ours failed."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self.is_open = False
        self._end_parts()
        self._attempt.closed(self, None)

    def returned(self) -> None:
        """`fit` is about to return."""
        if self._finalizer is not None:
            self._finalizer.detach()
        self._left_by = None
        self._close("returned")

    def is_this_thread(self) -> bool:
        """True in the thread that trains."""
        return self._thread == threading.get_ident()

    def runs_in(self, frame: FrameType) -> bool:
        """False if `fit` is no longer under way, as far as `frame`'s thread knows."""
        if not self._is_seen or not self.is_this_thread():
            return True
        return any(one is self._list() for one in lists_running(frame))

    def left(self) -> None:
        """`fit` is over, and if nobody saw how it ended, nobody ever will."""
        _AfterTheLast.leave(self._list())
        if self.is_open:
            self._close("raised")

    def process_ends(self, end: ProcessEnd) -> None:
        """The process ends while this training is open."""
        if end.error_id is None:
            self._end_parts()
            return
        place = None
        if end.file is not None:
            place = Place(end.file, end.line, end.function or "")
        words = ErrorWords(
            exception=end.exception or "",
            message=end.message or "",
            text=end.text or "",
            place=place,
        )
        phase = Phase(self.fit.recorder.progress.phase)
        during = _during(_DURING.get(phase, "other"), words)
        self._left_by = LeftBy(error_id=end.error_id, words=words, during=during)
        self._close("raised")

    def cell_failed(self, end: ProcessEnd) -> None:
        """A cell of a notebook was left; it was ours if it ran in our thread."""
        if self.is_open and self.is_this_thread():
            self.process_ends(end)

    def _raised(self, raised: Raised) -> None:
        """A part saw an exception on its way out of `fit`; runs in that moment."""
        error = raised.error
        if not self.is_open or type(error).__name__ in _END_OF_DATA:
            return
        words = words_of(error, error.__traceback__, caught_in=sys._getframe(1))
        self._left_by = LeftBy(
            error_id=id(error),
            words=words,
            during=_during(raised.during, words),
            callback=raised.callback,
        )
        if isinstance(error, SystemExit):
            self._left_by.exit_code = _exit_code(error)
            # Until it turns out that somebody caught it.
            self._left_by.ends_process = True
        self._close("raised")

    def _list_is_gone(self) -> None:
        """Runs in whatever thread and moment Python drops the list of callbacks."""
        if self._left_by is not None:
            # When nobody catches it, no frame is left when it goes.
            self._left_by.ends_process &= not _is_anybody_running(sys._getframe(1))
        elif self.is_open:
            # Never here: this may be a collection of garbage in the middle of
            # anything, with locks held.
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self._left_safely, daemon=True).start()

    def _left_safely(self) -> None:
        with self.fit.guard.protect(_WHAT):
            self.left()

    def _close(self, reason: str) -> None:
        self.is_open = False
        self._end_parts()
        try:
            self._record_end(reason)
        finally:
            self._attempt.closed(self, self._left_by)

    def _record_end(self, reason: str) -> None:
        recorder = self._attempt.recorder
        recorder.enter(Phase.NOT_TRAINING)
        step = recorder.progress.step
        recorder.record(
            facts.TrainingEnded(
                wall_time=time.time(),
                step=step,
                training=self.fit.training,
                last_step=step,
                epochs_done=self.epochs_done,
                reason=reason,
                **_told(self._left_by),
            )
        )

    def _end_parts(self) -> None:
        while self._parts:
            part = self._parts.pop()
            with self.fit.guard.protect(
                f"a part of a training ({type(part).__name__})"
            ):
                part.end()


class _AfterTheLast:
    """Stands in for `on_train_end` of the list: callbacks behind ours may still raise.

    It holds the list weakly, whose end tells that `fit` is gone.
    """

    def __init__(self, callbacks: Any, then: Callable[[], None]) -> None:
        self._list = weakref.ref(callbacks)
        self._then = then

    @classmethod
    def follow(cls, callbacks: Any, then: Callable[[], None]) -> bool:
        if _ON_TRAIN_END in vars(callbacks):
            return False
        vars(callbacks)[_ON_TRAIN_END] = cls(callbacks, then)
        return True

    @staticmethod
    def leave(callbacks: Any) -> None:
        if callbacks is not None:
            vars(callbacks).pop(_ON_TRAIN_END, None)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        callbacks: Any = self._list()
        self.leave(callbacks)
        callbacks.on_train_end(*args, **kwargs)
        self._then()


def _told(left_by: LeftBy | None) -> dict[str, Any]:
    if left_by is None:
        return {}
    words, place = left_by.words, left_by.words.place
    return {
        "exception": words.exception,
        "message": words.message,
        "text": words.text,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "function": place.function if place else None,
        "during": left_by.during,
        "callback": left_by.callback,
    }


def _during(during: str, words: ErrorWords) -> str:
    """A step fetches its own batch: what the data raises comes out of the step."""
    return "data" if during == "step" and _FETCHES in words.message else during


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _is_anybody_running(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename == weakref.__file__:
        frame = frame.f_back
    return frame is not None


def _reference(callbacks: Any) -> Callable[[], Any]:
    return weakref.ref(callbacks) if callbacks is not None else lambda: None
