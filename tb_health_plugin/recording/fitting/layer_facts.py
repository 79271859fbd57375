"""What can be told of the layers and variables of a model without running it."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.flat_layers import (
    is_input,
    is_model,
    named_layers,
)
from tb_health_plugin.recording.fitting.plain_text import (
    attribute,
    called,
    class_and_settings,
    is_keras,
    plain,
)

# A fact has to fit into the memory that facts wait in, beside others. What is said
# per layer or per variable ends here, too.
MOST_LAYERS = 2_000
MOST_VARIABLES = 4_000
# Beyond this, layers are told without their settings.
_MOST_WITH_SETTINGS = 500

_PLAIN = (
    "rate",
    "use_bias",
    "momentum",
    "epsilon",
    "negative_slope",
    "alpha",
    "max_value",
    "kernel_size",
    "strides",
    "padding",
    "pool_size",
    "dilation_rate",
    "groups",
    "return_sequences",
    "stateful",
    "dropout",
    "recurrent_dropout",
    "input_dim",
    "mask_zero",
    "num_heads",
    "key_dim",
    "stddev",
    "scale",
    "offset",
    "merge_mode",
    "synchronized",
)
_OBJECTS = (
    "recurrent_activation",
    "kernel_initializer",
    "recurrent_initializer",
    "embeddings_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "recurrent_regularizer",
    "embeddings_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
)
# Layers that are nothing but an activation.
_ACTIVATIONS = {
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "PReLU": "prelu",
    "ELU": "elu",
    "Softmax": "softmax",
    "ThresholdedReLU": "thresholded_relu",
}
# Where a layer that wraps another one keeps it.
_WRAPPED = ("layer", "forward_layer")
# What a layer calls the size of the last axis of what it gives out.
_UNITS = ("units", "filters", "output_dim")


def layers_of(model: Any) -> tuple[facts.Layer, ...]:
    """In the order of `flat_layers`."""
    named = named_layers(model)[:MOST_LAYERS]
    last = {id(layer) for layer in _output_layers(model)}
    with_settings = len(named) <= _MOST_WITH_SETTINGS
    return tuple(
        facts.Layer(
            name=path,
            kind=type(layer).__name__,
            activation=_activation(layer) or "",
            units=_units(layer),
            parameters=sum(_size(variable) for variable in layer.weights),
            trainable=bool(layer.trainable),
            is_output=id(layer) in last,
            is_custom=not is_keras(layer),
            settings=_settings(layer) if with_settings else {},
        )
        for path, layer in named
    )


def variables_of(model: Any) -> tuple[facts.Variable, ...]:
    """In the order of `model.variables`."""
    owners = {
        id(variable): path
        for path, layer in named_layers(model)
        for variable in layer.variables
    }
    trained = {id(variable) for variable in model.trainable_variables}
    return tuple(
        facts.Variable(
            name=variable.path,
            layer=owners.get(id(variable), ""),
            size=_size(variable),
            trainable=id(variable) in trained,
            dtype=str(variable.dtype),
        )
        for variable in model.variables[:MOST_VARIABLES]
    )


def _size(variable: Any) -> int:
    return math.prod(int(size) for size in variable.shape)


def _wrapped(layer: Any) -> Any:
    inside = (attribute(layer, name) for name in _WRAPPED)
    return next((one for one in inside if one is not None), None)


def _activation(layer: Any) -> str | None:
    kind = _ACTIVATIONS.get(type(layer).__name__)
    if kind:
        return kind
    activation = attribute(layer, "activation")
    if activation is not None:
        return _ACTIVATIONS.get(type(activation).__name__) or called(activation)
    inside = _wrapped(layer)
    return _activation(inside) if inside is not None else None


def _units(layer: Any) -> int | None:
    # Only a model made of symbolic tensors knows what its layers give out.
    shape = attribute(attribute(layer, "output"), "shape")
    if isinstance(shape, tuple) and shape and shape[-1] is not None:
        return int(shape[-1])
    known = (attribute(layer, name) for name in _UNITS)
    return next((one for one in known if isinstance(one, int)), None)


def _settings(layer: Any) -> dict[str, str]:
    found = {name: plain(attribute(layer, name)) for name in _PLAIN}
    found |= {name: class_and_settings(attribute(layer, name)) for name in _OBJECTS}
    found["dtype"] = attribute(attribute(layer, "dtype_policy"), "name")
    inside = _wrapped(layer)
    found["wraps"] = type(inside).__name__ if inside is not None else None
    return {name: text for name, text in found.items() if text is not None}


def _output_layers(model: Any) -> Iterator[Any]:
    """The layers whose output is what the model gives out."""
    for layer in _last(model):
        if is_model(layer):
            yield from _output_layers(layer)
        else:
            yield layer


def _last(model: Any) -> Iterable[Any]:
    layers = [layer for layer in model.layers if not is_input(layer)]
    outputs = attribute(model, "outputs")
    if not outputs or type(model).__name__ == "Sequential":
        return layers[-1:]
    tensors = {id(tensor) for tensor in outputs}
    found = [layer for layer in layers if id(attribute(layer, "output")) in tensors]
    if len(found) < len(tensors):
        # A layer that is called twice does not tell its output, the model its name.
        names = attribute(model, "output_names") or ()
        found += [layer for layer in layers if layer.name in names]
    return found


def trainable_parameters(model: Any) -> int | None:
    """Numbers that are trained; None while the model has no variables yet."""
    if not model.variables:
        return None
    return sum(int(math.prod(v.shape)) for v in model.trainable_variables)
