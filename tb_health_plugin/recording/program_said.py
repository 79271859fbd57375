"""Keeps the warnings that the program, TensorFlow and Keras give out.

Nobody's output changes. Loggers get a filter that lets all pass, not a handler: one
handler more would silence what Python prints when there is none. What a program sends
through loggers of its own names is not seen.
"""

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.recorder import Recorder

_WHAT = "warnings of the program"
# A filter sees what is logged through its own logger: the root's are the functions of
# the logging module. TensorFlow and absl each log through one; Keras through absl.
_LOGGERS = ("tensorflow", "absl", "keras")
# So many different ones tell the story; a flood is the same one again and again.
MOST_MESSAGES = 50
LONGEST_MESSAGE = 1_000


class Ears:
    """Records what is said as long as one attempt is recorded."""

    def __init__(self, recorder: Recorder, guard: Guard) -> None:
        self._recorder = recorder
        self._guard = guard
        self._heard: set[str] = set()

    def begin(self) -> None:
        with self._guard.protect(_WHAT):
            _listen(self)

    def listen_again(self) -> None:
        """Loggers may have been made since: TensorFlow comes after the launcher."""
        with self._guard.protect(_WHAT):
            _attach()

    def end(self) -> None:
        with self._guard.protect(_WHAT):
            _stop_listening(self)

    def hear(self, make: Callable[[], dict[str, Any]]) -> None:
        """Records what `make` returns, unless it was heard before."""
        if self._guard.is_off(_WHAT) or len(self._heard) >= MOST_MESSAGES:
            return
        with self._guard.protect(_WHAT):
            said = make()
            said["message"] = said["message"][:LONGEST_MESSAGE]
            if said["message"] not in self._heard:
                self._heard.add(said["message"])
                self._recorder.record(
                    facts.ProgramSaid(
                        wall_time=time.time(), step=self._recorder.progress.step, **said
                    )
                )


_lock = threading.Lock()
# Replaced, never changed: somebody may be going through it.
_ears: tuple[Ears, ...] = ()
_show: "_ShowWarning | None" = None


def _listen(ears: Ears) -> None:
    global _ears, _show
    with _lock:
        _ears = (*_ears, ears)
        if len(_ears) == 1:
            _attach()
            _show = _ShowWarning(warnings.showwarning)
            warnings.showwarning = _show


def _stop_listening(ears: Ears) -> None:
    global _ears, _show
    with _lock:
        if ears not in _ears:
            return
        _ears = tuple(one for one in _ears if one is not ears)
        if _ears:
            return
        for logger in _loggers():
            logger.removeFilter(_pass_on)
        # Where somebody put theirs on top of ours, ours only passes on from now.
        if _show is not None and warnings.showwarning is _show:
            warnings.showwarning = _show.before
        _show = None


def _attach() -> None:
    for logger in _loggers():
        logger.addFilter(_pass_on)


def _loggers() -> list[logging.Logger]:
    """Those that are there. Made by us, absl's would lack what absl gives it."""
    known = logging.root.manager.loggerDict
    named = [known.get(name) for name in _LOGGERS]
    return [logging.root, *(one for one in named if isinstance(one, logging.Logger))]


def _pass_on(record: logging.LogRecord) -> bool:
    """A filter that only listens."""
    if record.levelno >= logging.WARNING:
        for ears in _ears:
            ears.hear(
                lambda: {
                    "logger": record.name,
                    "level": record.levelname.lower(),
                    "message": record.getMessage(),
                    "file": record.pathname,
                    "line": record.lineno,
                }
            )
    return True


class _ShowWarning:
    """Notes a warning of Python, then does what would have been done without us."""

    def __init__(self, before: Callable[..., Any]) -> None:
        self.before = before

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        for ears in _ears:
            ears.hear(
                lambda: {
                    "logger": "warnings",
                    "level": "warning",
                    "message": f"{category.__name__}: {message}",
                    "file": os.fspath(filename),
                    "line": lineno,
                }
            )
        self.before(message, category, filename, lineno, file, line)
