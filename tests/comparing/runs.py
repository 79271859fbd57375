"""Hand-made runs to compare."""

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt, RunHistory

BEGAN = 1_000.0
GIB = float(1 << 30)


def run(
    name: str = "run",
    *told: facts.Fact,
    steps: int = 600,
    began: float = BEGAN,
    program: str | None = "/home/ana/train.py",
    settings: dict[str, str] | None = None,
    **columns: np.ndarray,
) -> RunHistory:
    """A run with one sample per second and per step."""
    attempt = Attempt("a1")
    attempt.period_seconds = 1.0
    attempt.add(facts.RunStarted(wall_time=began, pid=1, program=program))
    attempt.add(
        facts.TrainingStarted(
            wall_time=began,
            training=0,
            planned_steps_per_epoch=100,
            settings=settings or {},
        )
    )
    for fact in told:
        attempt.add(fact)
    count = np.arange(1, steps + 1, dtype=float)
    attempt.samples.append({"wall_time": began + count, "step": count, **columns})
    return RunHistory(name, [attempt])


def noise(seed: int, steps: int = 600, *, calm: float = 0.0) -> np.ndarray:
    """Unit noise; with `calm` each sample keeps that share of the one before."""
    fresh = np.random.default_rng(seed).normal(size=steps) * np.sqrt(1 - calm**2)
    values = np.empty(steps)
    last = 0.0
    for at, one in enumerate(fresh.tolist()):
        last = calm * last + one
        values[at] = last
    return values


def memory(seed: int, steps: int = 600, *, leak_from: int | None = None) -> np.ndarray:
    """5 GiB with a little noise; a leak of 24 MiB per step."""
    held = 5 * GIB * (1 + 0.005 * noise(seed, steps))
    if leak_from is not None:
        held[leak_from:] += 24 * 2.0**20 * np.arange(steps - leak_from)
    return held


def falling_loss(seed: int, steps: int = 600) -> np.ndarray:
    return (0.2 + 2 * np.exp(-np.arange(steps) / 150)) * np.exp(
        0.1 * noise(seed, steps)
    )
