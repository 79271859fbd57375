"""Hand-made records of small networks in training, for tests of rules on numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import START, training_started

NAN = math.nan
STEPS = 50


def dense(name: str, units: int = 16, activation: str = "relu", **more: Any):
    """A dense layer; `inputs` is how many numbers a unit gets."""
    return {
        "name": name,
        "units": units,
        "activation": activation,
        "inputs": more.pop("inputs", 16),
        "trainable": more.pop("trainable", True),
        "kind": more.pop("kind", "Dense"),
        "is_output": more.pop("is_output", False),
        "settings": more.pop("settings", {}),
    }


# Two hidden layers and an output: three kernels and three biases.
LAYERS = (dense("one"), dense("two"), dense("out", 1, "linear", is_output=True))
KERNELS = len(LAYERS)


def started(
    layers: Sequence[Mapping[str, Any]] = LAYERS, **settings: str
) -> facts.TrainingStarted:
    told = {
        "optimizer": "Adam",
        "optimizer.learning_rate": "0.001",
        "loss": "mse",
        "batch_size": "32",
        "train_step": "keras",
        **settings,
    }
    variables = [
        facts.Variable(
            name=f"model/{layer['name']}/{part}",
            layer=layer["name"],
            size=layer["units"] * (layer["inputs"] if part == "kernel" else 1),
            trainable=layer["trainable"],
            dtype=told.get("dtype", "float32"),
        )
        for layer in layers
        for part in ("kernel", "bias")
    ]
    return training_started(
        settings=told,
        planned_epochs=6,
        trainable_parameters=sum(v.size or 0 for v in variables if v.trainable),
        layers=tuple(
            facts.Layer(
                name=layer["name"],
                kind=layer["kind"],
                activation=layer["activation"],
                units=layer["units"],
                trainable=layer["trainable"],
                is_output=layer["is_output"],
                settings=layer["settings"],
            )
            for layer in layers
        ),
        variables=tuple(variables),
    )


def look(
    step: int,
    *,
    kernels: int = KERNELS,
    loss: float = 1.0,
    gradients: Sequence[float] | float = 0.5,
    weights: Sequence[float] | float = 4.0,
    updates: Sequence[float] | float = 0.004,
    has_gradient: Sequence[float] | float = 1.0,
    rate: float | None = 0.001,
    norm: float | None = None,
    **outputs: Any,
) -> facts.Inspected:
    """A look at one step; numbers are per kernel, and its bias has the same."""

    def both(numbers: Sequence[float] | float) -> tuple[float, ...]:
        if isinstance(numbers, float | int):
            numbers = [numbers] * kernels
        return tuple(float(n) for number in numbers for n in (number, number))

    sizes = both(gradients)
    good = [size for size in sizes if math.isfinite(size)]
    return facts.Inspected(
        wall_time=START + step,
        step=step,
        training=0,
        loss=loss,
        gradient_norm=norm if norm is not None else math.hypot(*good),
        learning_rate=rate,
        has_gradient=both(has_gradient),
        gradient_norms=sizes,
        gradient_nonfinite=tuple(float(not math.isfinite(size)) for size in sizes),
        gradient_zero_fractions=tuple(float(size == 0) for size in sizes),
        weight_norms=both(weights),
        update_norms=both(updates),
        **{name: tuple(map(float, numbers)) for name, numbers in outputs.items()},
    )


def looks(
    steps: Sequence[int] = (0, 1, 3, 10, 30, 100), **numbers: Any
) -> list[facts.Inspected]:
    """The same look at several steps; weights that change differ a little."""
    weights = numbers.pop("weights", 4.0)
    moves = numbers.get("updates", 0.004)
    result = []
    for index, step in enumerate(steps):
        still = not isinstance(moves, float) or not moves
        now = weights if still else _moved(weights, index)
        result.append(look(step, weights=now, **numbers))
    return result


def _moved(weights: Sequence[float] | float, index: int) -> Any:
    if isinstance(weights, float | int):
        return weights * (1 + 0.001 * index)
    return [weight * (1 + 0.001 * index) for weight in weights]


def epochs(
    losses: Sequence[float], *, steps: int = STEPS, **metrics: Sequence[float]
) -> list[facts.EpochEnded]:
    """Epochs with that mean loss, each in eight equal parts."""
    return [
        facts.EpochEnded(
            wall_time=START + (number + 1) * steps,
            step=(number + 1) * steps,
            training=0,
            epoch=number,
            first_step=number * steps,
            last_step=(number + 1) * steps,
            started_at=START + number * steps,
            metrics={"loss": loss, **{n: v[number] for n, v in metrics.items()}},
            loss_profile=(loss,) * 8,
        )
        for number, loss in enumerate(losses)
    ]


LEARNS = (1.0, 0.6, 0.4, 0.3, 0.25, 0.2)
STANDS = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def batch(
    step: int = 0, *, inputs: float = 3.0, targets: float = 2.0, **bad: Any
) -> facts.BatchSeen:
    """A batch of 32 rows; `bad` gives other fields to x (`x=`) or y (`y=`)."""
    fields = [
        facts.Field(
            name=name,
            role=role,
            dtype="float32",
            shape=(32, width),
            nonfinite_count=0,
            minimum=-scale,
            maximum=scale,
            mean=0.0,
            std=scale / 2,
            whole_numbers=False,
        )
        for name, role, width, scale in (
            ("x", "input", 10, inputs),
            ("y", "target", 1, targets),
        )
    ]
    changed = [
        facts.Field(**{**_as_dict(field), **bad.get(field.name, {})})
        for field in fields
    ]
    return facts.BatchSeen(
        wall_time=START + step,
        step=step,
        training=0,
        epoch=0,
        batch=step,
        fields=tuple(changed),
    )


def _as_dict(field: facts.Field) -> dict[str, Any]:
    return {name: getattr(field, name) for name in facts.Field.__dataclass_fields__}


def bad_number(step: int = 44, **more: Any) -> facts.FirstBadNumber:
    """The loss became NaN at that step; losses and gradients before were calm."""
    more.setdefault("seen_in", "loss")
    more.setdefault("value", "nan")
    more.setdefault("began_in", "loss")
    more.setdefault("exact", True)
    more.setdefault("losses_before", (0.5, 0.6, 0.5, 0.4))
    more.setdefault("gradient_norms_before", (1.0, 1.2, 0.9, 1.0))
    count = len(more["losses_before"])
    more.setdefault("steps_before", tuple(range(step - count, step)))
    return facts.FirstBadNumber(
        wall_time=START + step, step=step, training=0, epoch=0, bad_step=step, **more
    )


def nan_epochs(count: int = 4) -> list[facts.EpochEnded]:
    return epochs([NAN] * count)
