"""What a loop is known to be: fields of its `TrainingStarted`."""

import dataclasses
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit, Part
from tb_health_plugin.recording.fitting.plain_text import plain, plain_settings
from tb_health_plugin.recording.loops.looks import learning_rate
from tb_health_plugin.recording.loops.weights import Weights, path_of

_OPTIMIZERS = "settings of the optimizers"
# Settings of `compile` say nothing of a loop that does not use what was compiled.
_OF_COMPILE = ("loss", "loss.from_logits", "metrics", "run_eagerly", "jit_compile")


def describe(
    fit: Fit,
    models: Sequence[tuple[str, Any]],
    optimizers: Sequence[tuple[str, Any]],
    weights: Weights,
) -> dict[str, Any]:
    """Keyword arguments for `facts.TrainingStarted`; what fails is left out."""
    settings: dict[str, str] = {}
    layers: list[facts.Layer] = []
    owners: dict[str, str] = {}
    for name, model in models:
        if not is_keras_model(model):
            continue
        told = _told_by_keras(dataclasses.replace(fit, model=model))
        prefix = f"{name}/" if len(models) > 1 else ""
        settings = {**told.get("settings", {}), **settings}
        for layer in told.get("layers", ()):
            layers.append(dataclasses.replace(layer, name=f"{prefix}{layer.name}"))
        for variable in told.get("variables", ()):
            owners.setdefault(variable.name, f"{prefix}{variable.layer}")
    for left_out in _OF_COMPILE:
        settings.pop(left_out, None)
    settings["train_step"] = "custom"
    with fit.guard.protect(_OPTIMIZERS):
        settings |= _optimizer_settings(optimizers)
    return {
        "model": ", ".join(name for name, _ in models) or None,
        "settings": settings,
        "layers": tuple(layers),
        "variables": _with_layers(weights, owners),
        "trainable_parameters": weights.trainable_parameters() or None,
    }


def saves_of(fit: Fit) -> Part | None:
    """Watches how `fit.model` is saved; None if it is no model of Keras."""
    if not is_keras_model(fit.model):
        return None
    saves = importlib.import_module("tb_health_plugin.recording.fitting.saves")
    part: Part = saves.Saves(fit)
    return part


def is_keras_model(model: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def _told_by_keras(fit: Fit) -> dict[str, Any]:
    # It imports Keras, which a loop may do without.
    module = importlib.import_module("tb_health_plugin.recording.fitting.model_facts")
    told: dict[str, Any] = module.describe(fit)
    return told


def _with_layers(
    weights: Weights, owners: Mapping[str, str]
) -> tuple[facts.Variable, ...]:
    paths = map(path_of, weights.variables)
    return tuple(
        dataclasses.replace(told, layer=owners.get(path) or told.layer)
        for path, told in zip(paths, weights.described(), strict=True)
    )


def _optimizer_settings(optimizers: Sequence[tuple[str, Any]]) -> dict[str, str]:
    if not optimizers:
        return {}
    _, first = optimizers[0]
    found = {f"optimizer.{key}": value for key, value in plain_settings(first).items()}
    found["optimizer"] = type(first).__name__
    rate = plain(learning_rate([first]))
    if rate is not None:
        found["optimizer.learning_rate"] = rate
    if len(optimizers) > 1:
        kinds = [f"{name}: {type(one).__name__}" for name, one in optimizers]
        found["optimizers"] = ", ".join(kinds)
    return found
