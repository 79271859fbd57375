"""Tells from time to time where the time of a training went."""

import dataclasses
import gc
import os
import threading
import time
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit, Spent
from tb_health_plugin.recording.fitting.gpu_memory import GpuMemory
from tb_health_plugin.recording.fitting.live_objects import LiveObjects
from tb_health_plugin.recording.worker import team_size
from tb_health_plugin.writing.thinning import written_each

_WHAT = "where the time goes"
_OBJECTS = "how many objects Python holds"
_GPU_MEMORY = "TensorFlow's use of GPU memory"
# Fine enough to see a change within a minute, coarse enough to keep for days.
PERIOD_SECONDS = 5.0
# An epoch gets a stretch of its own, unless epochs are shorter than this.
SHORTEST_SECONDS = 1.0
# They are the objects of all trainings of this process.
_live_objects = LiveObjects()
# A callback that took less than this in a stretch says nothing.
LEAST_CALLBACK_SECONDS = 0.001
# Measured by parts that may not be there; once measured, always measured.
_MAYBE = (
    "examples",
    "wait_seconds",
    "step_seconds",
    "validation_wait_seconds",
    "traces",
)


class TimeSpent:
    """Empties `fit.spent` into facts; `tick` is called as the training goes on."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._lock = threading.Lock()
        self._is_on = False
        # Many workers are read together; each of them tells less often.
        self._period_seconds = PERIOD_SECONDS * written_each(team_size(os.environ))
        self._began_at = time.monotonic()
        self._first_step = 0
        self._collecting_since: float | None = None
        self._gpu_memory: GpuMemory | None = None

    def begin(self) -> None:
        self._gpu_memory = GpuMemory(self._fit)
        self._tell_memory(at_once=True)
        self._first_step = self._fit.recorder.progress.step
        self._fit.spent.since = time.time()
        self._began_at = time.monotonic()
        self._is_on = True
        gc.callbacks.append(self._collecting)

    def end(self) -> None:
        if self._is_on:
            self._is_on = False
            gc.callbacks.remove(self._collecting)
            self._tell()
            self._tell_memory(at_once=True)

    def tick(self, *, epoch_ended: bool = False) -> None:
        """The training went on; tells a stretch if it is time to."""
        due = SHORTEST_SECONDS if epoch_ended else self._period_seconds
        if self._is_on and time.monotonic() - self._began_at >= due:
            self._tell()
            self._tell_memory()

    def _tell(self) -> None:
        with self._lock, self._fit.guard.protect(_WHAT):
            fit, now = self._fit, time.monotonic()
            seconds, self._began_at = now - self._began_at, now
            spent, fit.spent = fit.spent, _next(fit.spent)
            step = fit.recorder.progress.step
            steps, self._first_step = step - self._first_step, step
            fit.recorder.record(
                facts.TimeSpent(
                    wall_time=time.time(),
                    step=step,
                    training=fit.training,
                    epoch=fit.epoch,
                    since=spent.since,
                    seconds=seconds,
                    steps=steps,
                    validation_seconds=spent.validation_seconds,
                    validation_steps=spent.validation_steps,
                    callback_seconds=_worth_telling(spent.callback_seconds),
                    save_seconds=spent.save_seconds,
                    recording_seconds=spent.recording_seconds,
                    gc_seconds=spent.gc_seconds,
                    **{name: getattr(spent, name) for name in _MAYBE},
                    **self._counted(now),
                )
            )

    def _counted(self, now: float) -> dict[str, Any]:
        if not self._fit.guard.is_off(_OBJECTS):
            with self._fit.guard.protect(_OBJECTS):
                counted = _live_objects.count(now)
                return {} if counted is None else dataclasses.asdict(counted)
        return {}

    def _tell_memory(self, *, at_once: bool = False) -> None:
        with self._lock, self._fit.guard.protect(_GPU_MEMORY):
            if self._gpu_memory is not None:
                self._gpu_memory.tell(now=time.monotonic(), at_once=at_once)

    def _collecting(self, phase: str, info: dict[str, Any]) -> None:
        """Python's garbage collector begins or ends."""
        if phase == "start":
            self._collecting_since = time.perf_counter()
        elif self._collecting_since is not None:
            self._fit.spent.gc_seconds += time.perf_counter() - self._collecting_since


def _next(spent: Spent) -> Spent:
    """An empty one, in which the same things are measured."""
    fresh = Spent()
    for name in _MAYBE:
        if getattr(spent, name) is not None:
            setattr(fresh, name, 0)
    return fresh


def _worth_telling(seconds: dict[str, float]) -> dict[str, float]:
    # Copied first: the training may be adding to it in its own thread.
    kept = dict(seconds).items()
    return {name: value for name, value in kept if value >= LEAST_CALLBACK_SECONDS}
