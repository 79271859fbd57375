"""Hand-made records of runs, for tests of rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tb_health_plugin.diagnosis import story
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# When hand-made runs begin: early enough to be read as seconds.
START = 1_000.0
MIB = 1 << 20

ALIVE = Life(alive=True, because="Process 1 is running.")
GONE = Life(alive=False, because="Process 1 is gone.")


def attempt_of(
    *told: facts.Fact, samples: Mapping[str, Sequence[float]] | None = None
) -> Attempt:
    """An attempt with these facts, and with samples given by column."""
    attempt = Attempt("a")
    for fact in told:
        attempt.add(fact)
    if samples:
        attempt.samples.append({n: np.asarray(v, float) for n, v in samples.items()})
        attempt.period_seconds = 1.0
    return attempt


def case_of(
    *told: facts.Fact,
    samples: Mapping[str, Sequence[float]] | None = None,
    life: Life = GONE,
) -> Case:
    attempt = attempt_of(*told, samples=samples)
    return Case(attempt, life, story.tell(attempt, life))


def ask(
    rule: Rule,
    *told: facts.Fact,
    samples: Mapping[str, Sequence[float]] | None = None,
    life: Life = GONE,
) -> Verdict | NotMeasured | None:
    """What a rule says about a run with these facts and samples."""
    return rule.judge(case_of(*told, samples=samples, life=life))


def run_started(**settings: str) -> facts.RunStarted:
    return facts.RunStarted(wall_time=START - 5, pid=1, settings=settings)


def training_started(
    at: float = 0.0,
    *,
    training: int = 0,
    settings: Mapping[str, str] | None = None,
    **more: Any,
) -> facts.TrainingStarted:
    """A training that begins `at` seconds into the run."""
    more.setdefault("initial_epoch", 0)
    more.setdefault("first_step", more.get("step", 0))
    more.setdefault("loop", "fit")
    return facts.TrainingStarted(
        wall_time=START + at, training=training, settings=settings or {}, **more
    )


def training_ended(
    at: float, step: int, *, training: int = 0, epochs: int = 1, **more: Any
) -> facts.TrainingEnded:
    more.setdefault("reason", "returned")
    return facts.TrainingEnded(
        wall_time=START + at,
        step=step,
        training=training,
        last_step=step,
        epochs_done=epochs,
        **more,
    )


def epochs(
    seconds: Sequence[float],
    steps: int,
    *,
    at: float = 0.0,
    training: int = 0,
    first_step: int = 0,
    metrics: Sequence[Mapping[str, float]] | None = None,
    **more: Any,
) -> list[facts.EpochEnded]:
    """Epochs that follow each other, each with its length and the same steps."""
    ended, began = [], START + at
    for number, length in enumerate(seconds):
        first = first_step + number * steps
        ended.append(
            facts.EpochEnded(
                wall_time=began + length,
                step=first + steps,
                training=training,
                epoch=number,
                first_step=first,
                last_step=first + steps,
                started_at=began,
                metrics=metrics[number] if metrics else {"loss": 1.0},
                **more,
            )
        )
        began += length
    return ended


def time_spent(
    stretches: Sequence[Mapping[str, Any]],
    *,
    at: float = 0.0,
    training: int = 0,
    first_step: int = 0,
) -> list[facts.TimeSpent]:
    """Stretches that follow each other; `seconds` is how long each one was."""
    spent, began, step = [], START + at, first_step
    for stretch in stretches:
        seconds = stretch.get("seconds", 5.0)
        step += stretch.get("steps", 0)
        fields = {"epoch": 0, **stretch, "seconds": seconds}
        spent.append(
            facts.TimeSpent(
                wall_time=began + seconds,
                step=step,
                training=training,
                since=began,
                **fields,
            )
        )
        began += seconds
    return spent


def seconds_of(count: int, at: float = 0.0) -> list[float]:
    """Wall times of `count` samples, one a second."""
    return [START + at + second for second in range(count)]
