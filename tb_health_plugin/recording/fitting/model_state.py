"""Everything in a model that a training step may change, to keep and to put back."""

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tb_health_plugin.recording.fitting.probes import optimizers_of


def plain(variables: Iterable[Any], strategy: Any) -> list[Any]:
    """TensorFlow's variables behind those of Keras, one per replica, each once."""
    found: dict[int, Any] = {}
    for variable in variables:
        # Of a Keras variable `value` is a property, of TensorFlow's it is a method.
        inner = variable
        if not isinstance(variable, tf.Variable):
            inner = variable.value
        for one in strategy.experimental_local_results(inner):
            if isinstance(one, tf.Variable):
                found[id(one)] = one
    return list(found.values())


def everything(model: Any) -> list[Any]:
    """All variables: weights, seeds, metrics and what optimizers remember."""
    found = [*model.variables, *model.metrics_variables, *remembered(model)]
    found += [one for one in vars(model).values() if isinstance(one, tf.Variable)]
    return plain(found, model.distribute_strategy)


def remembered(model: Any) -> list[Any]:
    """Variables of the optimizers."""
    found: list[Any] = []
    for optimizer in optimizers_of(model):
        found += optimizer.variables
        found += getattr(getattr(optimizer, "inner_optimizer", None), "variables", ())
    return found


def bytes_in(variables: Iterable[Any]) -> int:
    return sum(int(one.shape.num_elements() or 0) * one.dtype.size for one in variables)


class Kept:
    """The values of variables at one moment.

    TensorFlow copies a value only when the variable is next written, so that this
    costs the trainer one copy of what really changes.
    """

    def __init__(self, variables: list[Any]) -> None:
        self._variables = variables
        self._values = [variable.value() for variable in variables]

    def put_back(self) -> None:
        for variable, value in zip(self._variables, self._values, strict=True):
            variable.assign(value)
