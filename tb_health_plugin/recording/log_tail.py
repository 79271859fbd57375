"""Keeps the last lines of the program's log where a SIGKILL does not reach them.

Records are seen as Python makes them, whichever logger they come from. No logger gets a
handler or a filter, and nothing that is printed changes.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.recorder import Recorder

_WHAT = "the program's log"
# About what a screen shows. It is copied with every line.
MOST_BYTES = 4_000
LONGEST_LINE = 500
# Their text is made without running code of the program.
_PLAIN = (str, int, float, bool, type(None))


class LogTail:
    """The log as long as one attempt is recorded."""

    def __init__(self, recorder: Recorder, guard: Guard) -> None:
        self._recorder = recorder
        self._guard = guard
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._guard.protect(_WHAT):
            _listen(self)

    def end(self) -> None:
        with self._guard.protect(_WHAT):
            _stop_listening(self)

    def hear(self, record: logging.LogRecord) -> None:
        if self._guard.is_off(_WHAT):
            return
        with self._guard.protect(_WHAT):
            if not _may_be_read(record):
                return
            line = _line(record).encode("utf-8", "replace") + b"\n"
            # Whoever logs while another thread does need not wait for it.
            if self._lock.acquire(blocking=False):
                try:
                    self._keep(line)
                finally:
                    self._lock.release()

    def _keep(self, line: bytes) -> None:
        self._lines.append(line)
        self._bytes += len(line)
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._lines.popleft())
        self._recorder.keep_log(b"".join(self._lines))


_lock = threading.Lock()
# Replaced, never changed: somebody may be going through it.
_tails: tuple[LogTail, ...] = ()
_factory: "_Factory | None" = None


class _Factory:
    """Makes a record as it would have been made without us, and looks at it."""

    def __init__(self, before: Callable[..., logging.LogRecord]) -> None:
        self.before = before

    def __call__(self, *args: Any, **fields: Any) -> logging.LogRecord:
        record = self.before(*args, **fields)
        for tail in _tails:
            tail.hear(record)
        return record


def _listen(tail: LogTail) -> None:
    global _tails, _factory
    with _lock:
        _tails = (*_tails, tail)
        if _factory is None:
            _factory = _Factory(logging.getLogRecordFactory())
            logging.setLogRecordFactory(_factory)


def _stop_listening(tail: LogTail) -> None:
    global _tails, _factory
    with _lock:
        _tails = tuple(one for one in _tails if one is not tail)
        # Where somebody put theirs on top of ours, ours only passes on from now.
        if not _tails and logging.getLogRecordFactory() is _factory and _factory:
            logging.setLogRecordFactory(_factory.before)
            _factory = None


def _may_be_read(record: logging.LogRecord) -> bool:
    """Records that nobody shows may hold things whose text takes long to make."""
    if record.levelno >= logging.WARNING:
        return True
    args = record.args
    values = args.values() if isinstance(args, dict) else args or ()
    is_plain = all(isinstance(one, _PLAIN) for one in (record.msg, *values))
    return record.levelno >= logging.INFO and is_plain


def _line(record: logging.LogRecord) -> str:
    text = f"{record.levelname} {record.name}: {record.getMessage()}"[:LONGEST_LINE]
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        text += f" ({type(error).__name__}: {str(error)[:LONGEST_LINE]})"
    return text
