"""Stands in a model for one training step and measures what goes by.

Layers tell what they give out, optimizers which gradients they get. The same probes
serve a step that is traced, one that runs in several replicas, and one that runs
eagerly; what they measure are tensors of the place where the step runs.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from tb_health_plugin.recording.fitting import tensor_numbers
from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.flat_layers import named_layers

_UNIT = (0.0, 1.0)
_RANGES = {
    "sigmoid": _UNIT,
    "hard_sigmoid": _UNIT,
    "softmax": _UNIT,
    "tanh": (-1.0, 1.0),
}


class Measured:
    """What was measured in one step of one replica.

    Attributes:
        weights: Numbers of each variable of the model before the step, as
            `tensor_numbers.VECTOR`, by its `id`; of those that hold fractions.
        outputs: Numbers per place of `Probes.places`, as `tensor_numbers.OUTPUT`.
        order: Places in the order in which they ran last.
        gradients: Numbers per variable, as `tensor_numbers.VECTOR`, by its `id`.
        has_gradient: Whether it has a gradient, by the same.
        judged: Place whose very output the model gives to `compute_loss`.
        loss: Loss of the batch, as far as the model computed it by `compute_loss`.
        scale: Factor of the loss that gradients carry; None is 1.
        replicas: Each replica computes its part of the loss and of the gradients.
    """

    def __init__(self, model: Any) -> None:
        self.weights: dict[int, Any] = {}
        for variable in model.variables:
            value = tf.convert_to_tensor(variable.value)
            if value.dtype.is_floating:
                self.weights[id(variable)] = tensor_numbers.vector_numbers(value)
        self.outputs: dict[int, Any] = {}
        self.order: list[int] = []
        self.gradients: dict[int, Any] = {}
        self.has_gradient: dict[int, bool] = {}
        self.judged: int | None = None
        self.loss: Any = None
        self.scale: Any = None
        self.replicas = tf.distribute.get_strategy().num_replicas_in_sync
        self._graph = _graph()
        self._given_out: dict[int, Any] = {}

    def is_here(self, tensor: Any) -> bool:
        """False for tensors of a loop or branch inside: nobody outside can see them."""
        return isinstance(tensor, tf.Tensor) and _graph_of(tensor) is self._graph

    def saw_output(self, place: int, output: Any, numbers: Any) -> None:
        if place in self.outputs:
            self.order.remove(place)
        self.outputs[place] = numbers
        self.order.append(place)
        self._given_out[place] = output

    def saw_loss(self, predicted: Any, loss: Any) -> None:
        self.loss = tf.reduce_mean(tf.cast(loss, tf.float32)) * self.replicas
        is_it = (one for one, out in self._given_out.items() if out is predicted)
        self.judged = next(is_it, None)

    def saw_gradient(self, variable: Any, gradient: Any) -> None:
        self.has_gradient[id(variable)] = gradient is not None
        if gradient is not None:
            numbers = tensor_numbers.vector_numbers(gradient)
            self.gradients[id(variable)] = numbers

    def is_same_place(self) -> bool:
        return _graph() is self._graph


class Probes:
    """All probes of one model.

    Attributes:
        places: Name and object of everything whose output is seen: the layers of
            `named_layers`, then plain operations of a functional model.
        layers: How many of them are layers.
    """

    def __init__(self, model: Any, protect: Callable[[], Any]) -> None:
        self.model = model
        self.places = named_layers(model)
        self.layers = len(self.places)
        self.places += _operations(model, {id(layer) for _, layer in self.places})
        self.optimizers = optimizers_of(model)
        self.protect = protect
        self._of_thread = threading.local()
        self._probes: list[Around] = []

    def put(self, *, update: bool) -> None:
        """Without `update` optimizers change nothing."""
        for index, (_, place) in enumerate(self.places):
            self._put(_Output(self, place, index))
        for optimizer in self.optimizers:
            self._put(_Apply(self, optimizer, update))
            self._put(_ScaleLoss(self, optimizer))
        self._put(_ComputeLoss(self))

    def remove(self) -> None:
        while self._probes:
            self._probes.pop().remove()

    @contextlib.contextmanager
    def in_place(self, *, update: bool) -> Iterator[None]:
        try:
            self.put(update=update)
            yield
        finally:
            self.remove()

    @property
    def measured(self) -> Measured | None:
        """Where this thread's step is measured."""
        return getattr(self._of_thread, "measured", None)

    @measured.setter
    def measured(self, measured: Measured | None) -> None:
        self._of_thread.measured = measured

    def _put(self, probe: Around) -> None:
        self._probes.append(probe)
        probe.put()


class _Output(Around):
    """Around the `call` of a layer."""

    def __init__(self, probes: Probes, place: Any, index: int) -> None:
        super().__init__(place, "call")
        self._probes = probes
        self._index = index
        self._ends = _ends(place)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        result = self._inner(*args, **kwargs)
        measured = self._probes.measured
        if measured is not None:
            with self._probes.protect():
                self._saw(measured, result)
        return result

    def _saw(self, measured: Measured, result: Any) -> None:
        for output in tf.nest.flatten(result):
            if measured.is_here(output) and output.dtype.is_floating:
                numbers = tensor_numbers.output_numbers(output, self._ends)
                measured.saw_output(self._index, output, numbers)
                return


class _Apply(Around):
    """Around the `apply` of an optimizer."""

    def __init__(self, probes: Probes, optimizer: Any, update: bool) -> None:
        super().__init__(optimizer, "apply")
        self._probes = probes
        self._optimizer = optimizer
        self._update = update

    def call(self, grads: Any, trainable_variables: Any = None, **more: Any) -> Any:
        grads = list(grads)
        measured = self._probes.measured
        if measured is not None and measured.is_same_place():
            variables = trainable_variables
            if variables is None:
                variables = self._probes.model.trainable_variables
            with self._probes.protect():
                for gradient, variable in zip(grads, list(variables), strict=True):
                    measured.saw_gradient(variable, gradient)
        if not self._update:
            return self._optimizer.iterations
        return self._inner(grads, trainable_variables, **more)


class _ScaleLoss(Around):
    """Around the `scale_loss` of an optimizer."""

    def __init__(self, probes: Probes, optimizer: Any) -> None:
        super().__init__(optimizer, "scale_loss")
        self._probes = probes
        self._optimizer = optimizer

    def call(self, loss: Any) -> Any:
        measured = self._probes.measured
        if measured is not None and _scales(self._optimizer):
            with self._probes.protect():
                measured.scale = self._inner(tf.constant(1.0))
        return self._inner(loss)


class _ComputeLoss(Around):
    """Around the `compute_loss` of the model."""

    def __init__(self, probes: Probes) -> None:
        super().__init__(probes.model, "compute_loss")
        self._probes = probes

    def call(self, *args: Any, **kwargs: Any) -> Any:
        loss = self._inner(*args, **kwargs)
        measured = self._probes.measured
        if measured is not None and measured.is_here(loss):
            with self._probes.protect():
                predicted = kwargs.get("y_pred", args[2] if len(args) > 2 else None)
                measured.saw_loss(predicted, loss)
        return loss


def optimizers_of(model: Any) -> list[Any]:
    """The optimizers that can be reached from the model, each once."""
    found: dict[int, Any] = {}
    held = [getattr(model, "optimizer", None), *vars(model).values()]
    for one in held:
        inner = one
        if isinstance(one, dict):
            inner = list(one.values())
        for optimizer in inner if isinstance(inner, list | tuple) else [inner]:
            if isinstance(optimizer, keras.optimizers.Optimizer):
                found[id(optimizer)] = optimizer
    return list(found.values())


def scales_loss(model: Any) -> bool:
    """True if gradients may overflow without harm: such steps are left out."""
    kind = keras.optimizers.LossScaleOptimizer
    return any(isinstance(one, kind) for one in optimizers_of(model))


def scale_of(model: Any) -> float | None:
    """Factor by which a `LossScaleOptimizer` scales the loss now."""
    scale = getattr(getattr(model, "optimizer", None), "dynamic_scale", None)
    return None if scale is None else number_of(scale)


def number_of(value: Any) -> float:
    """A variable or tensor as a plain number, whatever strategy spreads it."""
    return float(tf.convert_to_tensor(value))


def _scales(optimizer: Any) -> bool:
    is_dynamic = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return is_dynamic or getattr(optimizer, "loss_scale_factor", None) is not None


def _operations(model: Any, known: set[int]) -> list[tuple[str, Any]]:
    """Operations such as `keras.ops.log` that a functional model applies itself."""
    found = []
    for operation in getattr(model, "operations", None) or ():
        if isinstance(operation, keras.layers.Layer) or id(operation) in known:
            continue
        found.append((str(operation.name), operation))
    return found


def _ends(place: Any) -> tuple[float, float] | None:
    """Ends of the range of a layer's activation, if it has such."""
    activation = getattr(place, "activation", None)
    name = getattr(activation, "__name__", "") or getattr(activation, "name", "")
    if isinstance(place, keras.layers.Softmax):
        name = "softmax"
    return _RANGES.get(str(name))


def _graph() -> Any:
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _graph_of(tensor: Any) -> Any:
    return None if _graph() is None else getattr(tensor, "graph", None)
