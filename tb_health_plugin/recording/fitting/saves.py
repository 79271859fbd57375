"""Notes each time the model is saved during `fit`, by a callback or by the program."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.around import Unseen
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.inside import inside

_WHAT = "saved models"
_METHODS = ("save", "save_weights")


class Saves:
    """Stands around the methods of the model that save it."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._around: list[_Save] = []

    def begin(self) -> None:
        for name in _METHODS:
            around = _Save(self._fit, name)
            self._around.append(around)
            around.put()

    def end(self) -> None:
        for around in self._around:
            around.remove()
        self._around.clear()


class _Save(Unseen):
    """One of those methods."""

    def __init__(self, fit: Fit, name: str) -> None:
        super().__init__(fit.model, name)
        self._fit = fit

    def call(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        ok = False
        try:
            result = self._inner(*args, **kwargs)
            ok = True
            return result
        finally:
            seconds = time.perf_counter() - began
            with self._fit.guard.protect(_WHAT):
                self._fit.spent.save_seconds += seconds
                self._record(args[0] if args else kwargs.get("filepath"), seconds, ok)

    def _record(self, path: Any, seconds: float, ok: bool) -> None:
        self._fit.recorder.record(
            facts.Saved(
                wall_time=time.time(),
                step=self._fit.recorder.progress.step,
                training=self._fit.training,
                path=os.fspath(path) if isinstance(path, str | os.PathLike) else None,
                seconds=seconds,
                size_bytes=_size(path) if ok else None,
                ok=ok,
                callback=inside.name,
            )
        )


def _size(path: Any) -> int | None:
    """Bytes on the local disk; None for paths that are elsewhere."""
    with contextlib.suppress(OSError, TypeError):
        place = Path(path)
        if place.is_dir():
            return sum(one.stat().st_size for one in place.rglob("*") if one.is_file())
        return place.stat().st_size
    return None
