"""How a model was compiled: optimizer, loss, metrics and how steps run."""

import contextlib
from collections.abc import Mapping
from typing import Any

import keras

from tb_health_plugin.recording.fitting.plain_text import (
    LONGEST,
    attribute,
    called,
    class_and_settings,
    is_keras,
    plain,
    plain_settings,
    with_settings,
)

_COMPILED = ("jit_compile", "run_eagerly", "steps_per_execution")
# Losses that can take logits; given by name they take probabilities.
_TAKES_LOGITS = ("crossentropy", "bce")


def settings_of(model: Any) -> dict[str, str]:
    """Settings by name; the vocabulary is in events/settings.py."""
    found: dict[str, str | None] = {
        "model": type(model).__name__,
        "train_step": _whose(model, "train_step"),
        "dtype_policy": attribute(attribute(model, "dtype_policy"), "name"),
        "metrics": _metrics(model),
    }
    if _whose(model, "compute_loss") == "custom":
        found["compute_loss"] = "custom"
    found |= {name: plain(attribute(model, name)) for name in _COMPILED}
    found |= _optimizer(attribute(model, "optimizer"))
    found |= {"optimizers": _other_optimizers(model)}
    found |= _loss(attribute(model, "loss"))
    return {name: text for name, text in found.items() if text}


def _whose(model: Any, method: str) -> str:
    # On the class: a method of the instance may be there for the time of `fit`.
    is_own = getattr(type(model), method, None) is getattr(keras.Model, method, None)
    return "keras" if is_own else "custom"


def _metrics(model: Any) -> str | None:
    names: list[str] = []
    for metric in attribute(model, "metrics") or ():
        # Those given to `compile` are kept in one, which makes them in the first step.
        inside = attribute(metric, "metrics")
        names += [metric.name] if inside is None else [one.name for one in inside]
    return ", ".join(name for name in dict.fromkeys(names) if name != "loss")[:LONGEST]


def _optimizer(optimizer: Any) -> dict[str, str | None]:
    if optimizer is None:
        return {}
    found: dict[str, str | None] = {}
    inner = attribute(optimizer, "inner_optimizer")
    if inner is not None:
        found["loss_scaling"] = type(optimizer).__name__
        for name in ("initial_scale", "dynamic_growth_steps"):
            found[f"loss_scaling.{name}"] = plain(attribute(optimizer, name))
        optimizer = inner
    found["optimizer"] = type(optimizer).__name__
    found |= {f"optimizer.{k}": v for k, v in plain_settings(optimizer).items()}
    found["optimizer.learning_rate"] = _learning_rate(optimizer)
    return found | _schedule(optimizer)


def _learning_rate(optimizer: Any) -> str | None:
    """That of the moment; None if the optimizer has something else there."""
    schedule = _held_schedule(optimizer)
    if schedule is not None and not is_keras(schedule):
        # To ask for the rate would run the program's own code once more.
        return None
    rate = attribute(optimizer, "learning_rate")
    if isinstance(rate, keras.Variable):
        rate = rate.value
    with contextlib.suppress(Exception):
        # A variable of TensorFlow becomes a number by `numpy` alone.
        return plain(float(rate.numpy() if hasattr(rate, "numpy") else rate))
    return None


def _schedule(optimizer: Any) -> dict[str, str | None]:
    schedule = _held_schedule(optimizer)
    if schedule is None:
        return {}
    name = "learning_rate_schedule"
    more = {f"{name}.{key}": text for key, text in plain_settings(schedule).items()}
    return {name: type(schedule).__name__, **more}


def _held_schedule(optimizer: Any) -> Any:
    # `learning_rate` gives the rate of the moment, so look at what is held.
    kind = keras.optimizers.schedules.LearningRateSchedule
    held = vars(optimizer).values()
    return next((thing for thing in held if isinstance(thing, kind)), None)


def _other_optimizers(model: Any) -> str:
    """Those that a model with a step of its own keeps for itself."""
    told = []
    for name, thing in vars(model).items():
        if isinstance(thing, keras.optimizers.Optimizer) and name != "optimizer":
            rate = _learning_rate(thing) or "unknown"
            kind = with_settings(type(thing).__name__, {"learning_rate": rate})
            told.append(f"{name}: {kind}")
    return ", ".join(told)[:LONGEST]


def _loss(loss: Any) -> dict[str, str | None]:
    losses = _by_output(loss)
    if not losses:
        return {}
    told = {name: class_and_settings(one) or "" for name, one in losses.items()}
    logits = {name: _from_logits(one) for name, one in losses.items()}
    known = {name: text for name, text in logits.items() if text}
    return {
        "loss": _joined(told)[:LONGEST],
        "loss.from_logits": _joined(known) if known else None,
    }


def _by_output(loss: Any) -> dict[str, Any]:
    if isinstance(loss, Mapping):
        found = {str(name): one for name, one in loss.items()}
    elif isinstance(loss, list | tuple):
        found = {str(index): one for index, one in enumerate(loss)}
    else:
        found = {"": loss}
    return {name: one for name, one in found.items() if one is not None}


def _joined(told: Mapping[str, str]) -> str:
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{name}: {text}" if name else text for name, text in told.items())


def _from_logits(loss: Any) -> str | None:
    told = plain(attribute(loss, "from_logits"))
    is_by_name = isinstance(loss, str) or _is_keras_function(loss)
    name = (called(loss) or "").lower()
    if told is None and is_by_name and any(part in name for part in _TAKES_LOGITS):
        return "False"
    return told


def _is_keras_function(loss: Any) -> bool:
    module = getattr(loss, "__module__", None) or ""
    return hasattr(loss, "__name__") and module.partition(".")[0] == "keras"
