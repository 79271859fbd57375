"""Sees who sets `model.stop_training`, and from which line.

For the time of a `fit` the model's class has a property of that name. It keeps the
value where it was, in the model itself, so that all goes on as before.
"""

import contextlib
import sys
import threading
import time
from types import FrameType
from typing import Any

import keras

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.inside import inside, is_keras, name_of
from tb_health_plugin.recording.traces import is_library, outwards

_WHAT = "who stops a training"
_NAME = "stop_training"
# Fields of their own in the fact.
_NAMED = ("monitor", "best", "wait", "patience")
_LONGEST_SETTING = 200

# Taken again by the same thread if a collection of garbage ends another fit meanwhile.
_lock = threading.RLock()
# By class: how many fits watch it. By id of a model: who watches it.
_classes: dict[type, int] = {}
_watches: dict[int, list["StopWatch"]] = {}


class StopWatch:
    """Watches one model for the time of one `fit`."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._class: type | None = None

    def begin(self) -> None:
        kind = type(self._fit.model)
        with _lock:
            if kind not in _classes:
                if not _is_free(kind):
                    return
                setattr(kind, _NAME, property(_get, _set, _delete))
            _classes[kind] = _classes.get(kind, 0) + 1
            self._class = kind
            _watches.setdefault(id(self._fit.model), []).append(self)

    def end(self) -> None:
        with _lock:
            if self._class is None:
                return
            kind, self._class = self._class, None
            watching = _watches[id(self._fit.model)]
            watching.remove(self)
            if not watching:
                del _watches[id(self._fit.model)]
            _classes[kind] -= 1
            if not _classes[kind]:
                del _classes[kind]
                delattr(kind, _NAME)

    def stopped(self, frame: FrameType | None) -> None:
        """`frame` set it to true."""
        with self._fit.guard.protect(_WHAT):
            self._fit.recorder.record(self._fact(frame))

    def _fact(self, frame: FrameType | None) -> facts.StopRequested:
        writer = next((f for f in outwards(frame) if not _is_setattr(f)), None)
        callback = inside.callback or _callback(writer)
        name = inside.name if inside.callback else None
        fit = self._fit
        more: dict[str, Any] = {}
        if callback is not None:
            more = _settings(callback)
            more["callback"] = name or name_of(callback, callback.on_epoch_end)
            more["is_keras"] = is_keras(callback)
            more["value"] = _value(more.get("monitor"), writer)
        if writer is not None and not (
            is_library(writer.f_code.co_filename) and more.get("is_keras", True)
        ):
            more["file"] = writer.f_code.co_filename
            more["line"] = writer.f_lineno
            more["function"] = writer.f_code.co_name
        return facts.StopRequested(
            wall_time=time.time(),
            step=fit.recorder.progress.step,
            training=fit.training,
            epoch=fit.epoch,
            **more,
        )


def _is_free(kind: type) -> bool:
    """False if the program made something of its own of it."""
    found = getattr(kind, _NAME, None)
    # A class it inherits from may be watched already.
    return found is None or (isinstance(found, property) and found.fget is _get)


def _get(model: Any) -> Any:
    try:
        return vars(model)[_NAME]
    except KeyError:
        raise AttributeError(_NAME) from None


def _set(model: Any, value: Any) -> None:
    vars(model)[_NAME] = value
    watching = _watches.get(id(model))
    # Keras itself sets it to False at the start.
    if watching and value:
        for watch in list(watching):
            watch.stopped(sys._getframe(1))


def _delete(model: Any) -> None:
    try:
        del vars(model)[_NAME]
    except KeyError:
        raise AttributeError(_NAME) from None


def _is_setattr(frame: FrameType) -> bool:
    return frame.f_code.co_name == "__setattr__"


def _callback(frame: FrameType | None) -> Any:
    """The callback whose method set it, if its hooks are not watched."""
    for one in outwards(frame):
        self = one.f_locals.get("self")
        if isinstance(self, keras.callbacks.CallbackList):
            return None
        if isinstance(self, keras.callbacks.Callback):
            return self
    return None


def _settings(callback: Any) -> dict[str, Any]:
    """What the callback holds in the open, as far as it is plain."""
    found: dict[str, Any] = {}
    settings = {}
    for name, value in vars(callback).items():
        if name.startswith("_") or name == "params":
            continue
        if name in _NAMED:
            found[name] = _plain(name, value)
        elif isinstance(value, bool | int | float | str):
            settings[name] = str(value)[:_LONGEST_SETTING]
    found["settings"] = settings
    return {name: value for name, value in found.items() if value is not None}


def _plain(name: str, value: Any) -> Any:
    if name == "monitor":
        return value if isinstance(value, str) else None
    with contextlib.suppress(TypeError, ValueError):
        return float(value) if name == "best" else int(value)
    return None


def _value(monitor: str | None, frame: FrameType | None) -> float | None:
    """The watched metric, as the hook that set it was told."""
    for one in outwards(frame):
        logs = one.f_locals.get("logs")
        if monitor and isinstance(logs, dict) and monitor in logs:
            with contextlib.suppress(TypeError, ValueError):
                return float(logs[monitor])
        if isinstance(one.f_locals.get("self"), keras.callbacks.CallbackList):
            return None
    return None
