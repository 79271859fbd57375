"""Learns how this process ends, as far as Python itself is told.

An uncaught exception passes `sys.excepthook`; every orderly exit runs `atexit`.
What bypasses Python (SIGKILL, a crash in native code, `os._exit`) is not seen here.
"""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tb_health_plugin.recording.traces import without_ours, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How the process ends.

    Attributes:
        reason: "finished", "exception" or "interrupted".
        happened_at: Seconds since the epoch.
        exception: Class of the exception, if one ended it.
        message: Its message.
        text: Its traceback.
        file: Source file of the user's innermost frame.
        line: Line in that file.
        function: Function that line is in.
        error_id: `id` of the exception. The exception itself would keep all that its
            frames hold.
    """

    reason: str
    happened_at: float
    exception: str | None = None
    message: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    error_id: int | None = None


_listeners: list[Callable[[ProcessEnd], None]] = []
_installed_in: int | None = None
_seen: ProcessEnd | None = None


def on_process_end(listener: Callable[[ProcessEnd], None]) -> Callable[[], None]:
    """Calls `listener` once, at the end of this process. Forked children forget it.

    Returns:
        Forgets it here, too.
    """
    global _installed_in
    _listeners.append(listener)
    if _installed_in != os.getpid():
        _installed_in = os.getpid()
        sys.excepthook = _ExceptHook(sys.excepthook)
        atexit.register(_at_exit)

    def forget() -> None:
        with contextlib.suppress(ValueError):
            _listeners.remove(listener)

    return forget


def ended_by_exception(error: BaseException, trace: TracebackType | None) -> None:
    """Notes an exception that is about to end this process.

    For whoever runs the program: a program may replace `sys.excepthook`.
    """
    if os.getpid() == _installed_in:
        _tell(end_by_exception(type(error), error, trace))


class _ExceptHook:
    """Notes the exception, then does what would have been done without us."""

    def __init__(self, before: Callable[..., Any]) -> None:
        self._before = before

    def __call__(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if os.getpid() == _installed_in and _is_main_thread():
            with contextlib.suppress(Exception):
                _tell(end_by_exception(kind, error, trace))
                trace = without_ours(trace)
                # Python shows the one that the exception carries.
                error.__traceback__ = trace
        self._before(kind, error, trace)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def end_by_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> ProcessEnd:
    """The end that an exception makes, with its words and the user's line."""
    words = words_of(error, trace)
    return ProcessEnd(
        reason="interrupted" if issubclass(kind, KeyboardInterrupt) else "exception",
        happened_at=time.time(),
        exception=words.exception,
        message=words.message,
        text=words.text,
        file=words.place.file if words.place else None,
        line=words.place.line if words.place else None,
        function=words.place.function if words.place else None,
        error_id=id(error),
    )


def _at_exit() -> None:
    if os.getpid() == _installed_in:
        _tell(ProcessEnd(reason="finished", happened_at=time.time()))


def _tell(end: ProcessEnd) -> None:
    global _seen
    if _seen is not None:
        return
    _seen = end
    for listener in tuple(_listeners):
        listener(end)
