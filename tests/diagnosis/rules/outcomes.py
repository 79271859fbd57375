"""Hand-made trainings with a last layer, a loss, batches and how they went."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    run_started,
    training_ended,
    training_started,
)

ADAM = {"optimizer": "Adam", "optimizer.learning_rate": "0.001"}
STEPS = 50


def labels(
    counts: Mapping[float, int], shape: tuple[int, ...] | None = None
) -> facts.Field:
    """A target of classes, given by how often each number occurs."""
    total = sum(counts.values())
    mean = sum(value * count for value, count in counts.items()) / total
    square = sum((value - mean) ** 2 * count for value, count in counts.items())
    order = sorted(counts, key=lambda value: -counts[value])
    return facts.Field(
        name="y",
        role="target",
        dtype="float32",
        shape=shape or (total,),
        nonfinite_count=0,
        minimum=min(counts),
        maximum=max(counts),
        mean=mean,
        std=math.sqrt(square / total),
        whole_numbers=all(value == int(value) for value in counts),
        distinct=len(counts),
        values=tuple(order),
        counts=tuple(counts[value] for value in order),
    )


def numbers(
    mean: float = 0.0,
    std: float = 1.0,
    *,
    role: str = "target",
    shape: tuple[int, ...] = (32, 1),
    **more: Any,
) -> facts.Field:
    """Measurements with a mean and a spread, as far as three of it to each side."""
    more.setdefault("minimum", mean - 3 * std)
    more.setdefault("maximum", mean + 3 * std)
    return facts.Field(
        name="x" if role == "input" else "y",
        role=role,
        dtype="float32",
        shape=shape,
        nonfinite_count=0,
        mean=mean,
        std=std,
        whole_numbers=False,
        **more,
    )


INPUTS = numbers(role="input", shape=(32, 10))


def layer(name: str = "out", kind: str = "Dense", **more: Any) -> facts.Layer:
    more.setdefault("is_custom", False)
    return facts.Layer(name=name, kind=kind, trainable=True, **more)


def training(
    *,
    loss: str = "mse",
    activation: str = "linear",
    units: int = 1,
    target: facts.Field | Sequence[facts.Field] = (),
    inputs: facts.Field = INPUTS,
    metrics: Mapping[str, Sequence[float]] | None = None,
    steps: int = STEPS,
    settings: Mapping[str, str] | None = None,
    output: Mapping[str, Any] | None = None,
    hidden: Sequence[facts.Layer] = (),
    looks: Sequence[Mapping[str, Any]] = (),
    batches: int = 8,
    profiles: Sequence[Sequence[float]] = (),
    more: Sequence[facts.Fact] = (),
    **started: Any,
) -> list[facts.Fact]:
    """A training of `fit`, one epoch per number of each of the metrics."""
    given = {"model": "Sequential", "train_step": "keras", "loss": loss, **ADAM}
    if "crossentropy" in loss:
        given["loss.from_logits"] = str("from_logits=True" in loss)
    last = layer(activation=activation, units=units, is_output=True, **(output or {}))
    started.setdefault("planned_steps_per_epoch", steps)
    metrics = metrics or {}
    count = max((len(values) for values in metrics.values()), default=0)
    facts_: list[facts.Fact] = [
        run_started(),
        training_started(
            settings={"batch_size": "32", **given, **(settings or {})},
            layers=(*hidden, last),
            planned_epochs=count,
            **started,
        ),
    ]
    facts_ += _batches(target, inputs, batches, steps)
    for epoch in range(count):
        facts_.append(
            facts.EpochEnded(
                wall_time=START + 10 * (epoch + 1),
                step=steps * (epoch + 1),
                training=0,
                epoch=epoch,
                first_step=steps * epoch,
                last_step=steps * (epoch + 1),
                metrics={
                    name: values[epoch]
                    for name, values in metrics.items()
                    if epoch < len(values)
                },
                loss_profile=tuple(profiles[epoch]) if profiles else (),
            )
        )
    facts_ += [
        facts.Inspected(wall_time=START + n, step=n * steps, training=0, **look)
        for n, look in enumerate(looks)
    ]
    facts_ += more
    ended = any(isinstance(fact, facts.TrainingEnded) for fact in more)
    if not ended:
        facts_.append(training_ended(10 * count, steps * count, epochs=count))
    return facts_


def _batches(
    target: facts.Field | Sequence[facts.Field],
    inputs: facts.Field,
    count: int,
    steps: int,
) -> list[facts.Fact]:
    """Batches from all over an epoch; several targets follow each other in it."""
    targets = [target] if isinstance(target, facts.Field) else list(target)
    if not targets:
        return []
    return [
        facts.BatchSeen(
            wall_time=START + n / 10,
            step=n * steps // count,
            training=0,
            epoch=0,
            batch=n * steps // count,
            fields=(inputs, targets[n * len(targets) // count]),
        )
        for n in range(count)
    ]


def found(rule: Rule, told: Sequence[facts.Fact]) -> Verdict | None:
    """What a rule finds in it."""
    outcome = ask(rule, *told)
    assert outcome is None or isinstance(outcome, Verdict)
    if outcome is not None:
        assert len(outcome.headline) <= 100
        assert len(outcome.chip.split()) <= 3
        assert outcome.evidence
    return outcome


def is_alarm(rule: Rule, told: Sequence[facts.Fact]) -> bool:
    verdict = found(rule, told)
    return verdict is not None and verdict.severity != "info"
