"""What each of several workers spends its own time on, to find the one that drags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.diagnosis.case import Training, trainings_of
from tb_health_plugin.diagnosis.gpu_brakes import HEAT, POWER, braked
from tb_health_plugin.diagnosis.time_use import whole
from tb_health_plugin.events.columns import MOST_GPUS
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME

# The kernel hands out CPU time in periods of 100 ms unless told otherwise.
PERIOD_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Shares of a worker's training that are its own; None: not measured.

    Attributes:
        steps: Steps finished.
        seconds: How long it trained.
        data: Waiting for its batches.
        callbacks: In its callbacks, and saving.
        cpu_quota: Part of the time in which its CPU quota stopped it.
        gpu: Part of the work of its GPU in which heat or power held that back; of
            several the one that was held back most.
        swap: Part of the time in which its machine waited for memory.
        disk: Part of the time in which its machine waited for disks.
    """

    steps: int
    seconds: float
    data: float | None = None
    callbacks: float | None = None
    cpu_quota: float | None = None
    gpu: float | None = None
    swap: float | None = None
    disk: float | None = None


Team = Mapping[str, Pace]


def paces(attempts: Iterable[Attempt]) -> Team:
    """By attempt, as far as they trained."""
    found = {attempt.id: _pace(attempt) for attempt in attempts}
    return {id: pace for id, pace in found.items() if pace is not None}


def _pace(attempt: Attempt) -> Pace | None:
    trained = trainings_of(attempt)
    if not trained:
        return None
    training = max(trained, key=lambda one: one.steps)
    use = whole(training)
    callbacks = max(use.saving, sum(use.callbacks.values()))
    begin, end = window(attempt, training)
    stopped = rise(attempt, "cgroup_cpu_throttled_periods", begin, end)
    return Pace(
        steps=use.steps,
        seconds=use.seconds,
        data=None if use.waiting is None else use.share(use.waiting),
        callbacks=use.share(callbacks),
        cpu_quota=None if stopped is None else min(1.0, stopped * PERIOD_SECONDS),
        gpu=_braked(attempt),
        swap=rise(attempt, "pressure_memory_full_seconds", begin, end),
        disk=rise(attempt, "pressure_io_full_seconds", begin, end),
    )


def _braked(attempt: Attempt) -> float | None:
    """The largest share of a GPU's work in which something held it back."""
    table = attempt.samples
    shares = []
    for gpu in range(MOST_GPUS):
        if table.has(f"gpu{gpu}_throttle_reasons"):
            found = [braked(table, gpu, brake) for brake in (HEAT, POWER)]
            held = [one for one in found if one is not None]
            if held:
                any_held = np.logical_or.reduce([one[1] for one in held])
                shares.append(float(any_held.sum() / held[0][0].sum()))
    return max(shares, default=None)


def window(attempt: Attempt, training: Training) -> tuple[float, float]:
    """From the first step to the end: building a model is no pace."""
    ended = training.ended.wall_time if training.ended else attempt.last_seen_at
    begun = min((s.since for s in training.spent if s.since), default=None)
    return begun or training.started.wall_time, ended or 0.0


def rise(attempt: Attempt, column: str, begin: float, end: float) -> float | None:
    """How much a counter rose per second; None if it was not seen twice."""
    times, values = attempt.samples.column(TIME), attempt.samples.column(column)
    inside = np.isfinite(values) & (times >= begin) & (times <= end)
    times, values = times[inside], values[inside]
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    return max(0.0, float((values[-1] - values[0]) / (times[-1] - times[0])))
