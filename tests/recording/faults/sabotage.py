"""Lets something of ours fail at a chosen place, as its very first line runs."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import pytest

from tb_health_plugin.recording.guard import Guard
from tests.recording.faults.places import ROOT, Guarded, guarded_places

_BY_FILE: dict[str, list[Guarded]] = {}
for _one in guarded_places():
    _BY_FILE.setdefault(_one.file, []).append(_one)
# Python passes over frames of such files when it words a warning.
_HIDDEN = "importlib_bootstrap_"


class Sabotage(Exception):
    """Nobody else raises this."""


class Faults:
    """What was passed by, and what of it was made to fail.

    Attributes:
        passed: Every guarded place that ran.
        failed: Those that were made to fail.
    """

    def __init__(self, *armed: Guarded) -> None:
        self._armed = set(armed)
        self.passed: set[Guarded] = set()
        self.failed: list[Guarded] = []

    def is_due(self, frame: FrameType) -> bool:
        place = place_of(frame)
        if place is None:
            return False
        self.passed.add(place)
        if place not in self._armed or place in self.failed:
            return False
        self.failed.append(place)
        return True


def place_of(frame: FrameType) -> Guarded | None:
    """The guarded place that a frame is about to enter."""
    file = frame.f_code.co_filename.replace(_HIDDEN, "")
    if not file.startswith(str(ROOT)):
        return None
    hook = frame.f_locals.get("method")
    for place in _BY_FILE.get(file[len(str(ROOT)) + 1 :], []):
        if place.first <= frame.f_lineno <= place.last:
            return place
        if hook is not None and place.function == hook.__name__ and not place.last:
            return place
    return None


@contextlib.contextmanager
def sabotaged(
    monkeypatch: pytest.MonkeyPatch, modules: list[ModuleType], *armed: Guarded
) -> Iterator[Faults]:
    """Makes armed places fail once.

    Args:
        monkeypatch: Puts all back.
        modules: Those that use `guarded`.
        armed: The places.
    """
    faults = Faults(*armed)
    protect = Guard.protect

    class Protect:
        def __init__(self, guard: Guard, what: str) -> None:
            self._inner = protect(guard, what)

        def __enter__(self) -> None:
            self._inner.__enter__()
            frame = sys._getframe(1)
            if faults.is_due(frame):
                _fail_at_next_line(frame)

        def __exit__(self, *error: Any) -> Any:
            sys.settrace(None)
            return self._inner.__exit__(*error)

    def guarded_by(inner: Callable[..., None]) -> Callable[..., None]:
        def guarded(guard: Guard, what: str, call: Any, *args: Any) -> None:
            if faults.is_due(sys._getframe(1)):
                inner(guard, what, _fail)
            else:
                inner(guard, what, call, *args)

        return guarded

    with monkeypatch.context() as patch:
        patch.setattr(Guard, "protect", lambda self, what: Protect(self, what))
        for module in modules:
            patch.setattr(module, "guarded", guarded_by(vars(module)["guarded"]))
        yield faults


def _fail(*args: Any) -> None:
    raise Sabotage("on purpose")


def _fail_at_next_line(frame: FrameType | None) -> None:
    # A context manager of ours hands its body to whoever uses it.
    while frame is not None and frame.f_code.co_flags & inspect.CO_GENERATOR:
        frame = frame.f_back and frame.f_back.f_back
    assert frame is not None

    def at_line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            sys.settrace(None)
            frame.f_trace = None
            raise Sabotage("on purpose")
        return at_line

    frame.f_trace = at_line
    sys.settrace(lambda *_: None)
