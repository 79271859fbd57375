"""What a training knows of itself when it begins: fields of `TrainingStarted`."""

from typing import Any

from tb_health_plugin.recording.fitting import (
    compile_facts,
    data_facts,
    layer_facts,
    settings_facts,
)
from tb_health_plugin.recording.fitting.fit import Fit

_SETTINGS = "settings of the training"
_DATA = "what fit was given"
_LAYERS = "layers of the model"
_VARIABLES = "variables of the model"


def describe(fit: Fit) -> dict[str, Any]:
    """Keyword arguments for `facts.TrainingStarted`; what fails is left out."""
    settings: dict[str, str] = {}
    found: dict[str, Any] = {"settings": settings}
    guard = fit.guard
    with guard.protect(_SETTINGS):
        settings.update(compile_facts.settings_of(fit.model))
    with guard.protect(_SETTINGS):
        settings.update(settings_facts.settings_of(fit))
    with guard.protect(_DATA):
        settings.update(data_facts.settings_of(fit.arguments))
        found["planned_validation_steps"] = data_facts.planned_validation_steps(
            fit.arguments
        )
    return found | describe_model(fit)


def describe_model(fit: Fit) -> dict[str, Any]:
    """The part of it that a model knows only once it is built."""
    found: dict[str, Any] = {}
    with fit.guard.protect(_LAYERS):
        found["layers"] = layer_facts.layers_of(fit.model)
    with fit.guard.protect(_VARIABLES):
        found["variables"] = layer_facts.variables_of(fit.model)
        found["trainable_parameters"] = layer_facts.trainable_parameters(fit.model)
    return found
