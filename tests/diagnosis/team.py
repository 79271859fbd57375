"""Hand-made workers of one start."""

import signal
from collections.abc import Sequence

import numpy as np

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.together import StartStory, judge_start
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.workers import starts
from tests.conftest import worker_settings

GONE = Life(alive=False, because="Its process is gone.")
ALIVE = Life(alive=True, because="Its process is running.")
BEGAN = 1_000.0


def worker(
    rank: int,
    *told: facts.Fact,
    size: int = 2,
    seconds: int = 60,
    rate: float = 2.0,
    clock: float = 0.0,
    boot: str | None = "one machine",
    strategy: str = "CollectiveAllReduceStrategy",
    columns: dict[str, Sequence[float]] | None = None,
    began: float = BEGAN,
) -> Attempt:
    """One that trains `rate` steps a second; its clock is ahead by `clock`."""
    found = Attempt(f"a{rank}-{began:.0f}")
    settings = {
        **worker_settings(rank, size),
        "env.TF_CONFIG": f"task worker {rank}, cluster worker {size}",
    }
    at = began + clock
    found.add(
        facts.RunStarted(
            wall_time=at, host="h", pid=100 + rank, boot_id=boot, settings=settings
        )
    )
    found.add(
        facts.TrainingStarted(
            wall_time=at,
            training=0,
            planned_epochs=3,
            settings={"strategy": strategy},
        )
    )
    moments = np.arange(seconds, dtype=float)
    rows = {"wall_time": at + moments, "step": np.floor(moments * rate)}
    found.samples.append(rows | {n: np.asarray(v) for n, v in (columns or {}).items()})
    for fact in told:
        found.add(fact)
    return found


def spent(
    *, wait: float, step: float, seconds: float = 50.0, steps: int = 100
) -> facts.TimeSpent:
    return facts.TimeSpent(
        wall_time=BEGAN + seconds,
        step=steps,
        training=0,
        since=BEGAN,
        seconds=seconds,
        steps=steps,
        wait_seconds=wait,
        step_seconds=step,
    )


def killed(at: float, *, oom: bool = False, number: int = signal.SIGKILL):
    return facts.ProcessEnded(
        wall_time=at,
        signal=int(number),
        cgroup_oom_kills=1 if oom else 0,
        machine_oom_kills=1 if oom else 0,
        peak_memory_bytes=9.9e8,
        memory_limit_bytes=1e9,
    )


def lost(at: float, who: int, words: str = "Socket closed", step: int = 60):
    """What TensorFlow raises in a worker that has lost another one."""
    return facts.TrainingEnded(
        wall_time=at,
        step=step,
        training=0,
        reason="raised",
        exception="UnavailableError",
        message=f"/job:worker/replica:0/task:{who}: {words}",
        during="step",
    )


def finished(at: float, step: int) -> facts.TrainingEnded:
    return facts.TrainingEnded(
        wall_time=at,
        step=step,
        training=0,
        reason="returned",
        last_step=step,
        epochs_done=3,
    )


def stopped(since: float, step: int, **more: str) -> facts.Stalled:
    fields = {
        "phase": "training",
        "waits_for": "stopped",
        "because": "A signal stopped it: the kernel does not run it.",
        **more,
    }
    return facts.Stalled(
        wall_time=since + 12,
        step=step,
        since=since,
        silent_seconds=12.0,
        usual_seconds=0.5,
        cpu_fraction=0.0,
        **fields,
    )


def waits(phase: str) -> facts.Stalled:
    """Stands still from the middle on, and nobody sees what it waits for."""
    because = "It does nothing, and its stack does not say why."
    return stopped(BEGAN + 59, 118, phase=phase, waits_for="unknown", because=because)


def story(*workers: Attempt, alive: Sequence[int] = ()) -> StartStory:
    """Of the last start; `alive` has the ranks that still run."""
    pids = {100 + rank for rank in alive}

    def one(attempt: Attempt, team):
        is_alive = attempt.start is not None and attempt.start.pid in pids
        return judge(attempt, ALIVE if is_alive else GONE, team=team)

    found = starts(workers)
    return judge_start(found[-1], one, before=found[-2] if len(found) > 1 else None)


def table(told: StartStory) -> dict[str, str]:
    return {one.name: one.part for one in told.workers}
