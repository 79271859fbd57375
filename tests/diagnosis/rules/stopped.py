"""Trainings that a callback stopped, for tests."""

from collections.abc import Mapping, Sequence

from tb_health_plugin.diagnosis.rules.callback_stop import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    epochs,
    run_started,
    training_ended,
    training_started,
)

FALLING = (1.0, 0.8, 0.66, 0.55, 0.46)


def stopped(
    values: Sequence[float],
    *,
    monitor: str | None = "val_loss",
    callback: str = "EarlyStopping",
    training: int = 0,
    planned: int = 50,
    other: Mapping[str, Sequence[float]] | None = None,
    settings: Mapping[str, str] | None = None,
    profile: Sequence[float] = (),
    **stop,
) -> list[facts.Fact]:
    """A training that was stopped at the end of its last epoch."""
    columns = {monitor or "loss": values, **(other or {})}
    metrics = [
        {name: column[number] for name, column in columns.items()}
        for number in range(len(values))
    ]
    at, count = 1_000.0 * training, len(values)
    done = epochs(
        [1.0] * count,
        10,
        at=at,
        training=training,
        first_step=1_000 * training,
        metrics=metrics,
        loss_profile=tuple(profile),
    )
    last = 1_000 * training + 10 * count
    stop.setdefault("is_keras", callback == "EarlyStopping")
    return [
        training_started(
            at, training=training, planned_epochs=planned, first_step=1_000 * training
        ),
        *done,
        facts.StopRequested(
            wall_time=START + at + count,
            step=last,
            training=training,
            epoch=count - 1,
            callback=callback,
            monitor=monitor,
            settings=settings or {},
            **stop,
        ),
        training_ended(at + count, last, training=training, epochs=count),
    ]


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome
