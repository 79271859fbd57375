"""What one training step looks like: its loss, gradients, weights and outputs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tb_health_plugin.recording.fitting import tensor_numbers
from tb_health_plugin.recording.fitting.probes import Measured, Probes

_NONFINITE = tensor_numbers.VECTOR.index("nonfinite")
_OUTPUT_NONFINITE = tensor_numbers.OUTPUT.index("nonfinite")


@dataclass(frozen=True, slots=True)
class Look:
    """One step, in numbers; NaN where there is none.

    Attributes:
        loss: Loss of the batch; None if it is not known.
        weights: Per variable of the model, as `tensor_numbers.VECTOR`.
        gradients: The same for their gradients, without the scale of the loss.
        has_gradient: Per variable 1, or 0 if the loss does not depend on it.
        outputs: Per place of the probes, as `tensor_numbers.OUTPUT`.
        order: Places in the order in which they ran.
        judged: Place of the layer whose output the loss judges; None if not known.
    """

    loss: float | None
    weights: Any
    gradients: Any
    has_gradient: Any
    outputs: Any
    order: tuple[int, ...]
    judged: int | None = None

    @property
    def gradient_norm(self) -> float:
        norms = self.gradients[self.has_gradient == 1, 0]
        return math.hypot(*norms) if len(norms) else math.nan

    def bad_outputs(self) -> list[int]:
        """Places that gave out a bad number, in the order in which they ran."""
        return [one for one in self.order if self.outputs[one, _OUTPUT_NONFINITE] > 0]

    def bad_gradients(self) -> list[int]:
        return _above_zero(self.gradients[:, _NONFINITE])

    def bad_weights(self) -> list[int]:
        return _above_zero(self.weights[:, _NONFINITE])

    def is_loss_bad(self) -> bool:
        return self.loss is not None and not math.isfinite(self.loss)


@dataclass(frozen=True, slots=True)
class Legend:
    """Says what the rows of the tensors are that a measured step gives."""

    variables: int
    places: int
    replicas: int
    has_loss: bool
    weights: tuple[int, ...]
    gradients: tuple[int, ...]
    has_gradient: tuple[float, ...]
    outputs: tuple[int, ...]
    judged: int | None

    def look(self, tensors: list[Any]) -> Look:
        """Reads the tensors of `numbers_of`."""
        loss, scale, *rows = (tensor.numpy() for tensor in tensors)
        weights = _table(self.variables, tensor_numbers.VECTOR, self.weights, rows[0])
        gradients = _table(
            self.variables, tensor_numbers.VECTOR, self.gradients, rows[1]
        )
        gradients[:, 0] *= self.replicas / scale
        outputs = _table(self.places, tensor_numbers.OUTPUT, self.outputs, rows[2])
        return Look(
            loss=float(loss) if self.has_loss else None,
            weights=weights,
            gradients=gradients,
            has_gradient=np.array(self.has_gradient),
            outputs=outputs,
            order=self.outputs,
            judged=self.judged,
        )


def numbers_of(
    probes: Probes, measured: Measured, logs: Any
) -> tuple[list[Any], Legend]:
    """All that was measured in a step, as few tensors, and how to read them.

    Args:
        probes: What measured it.
        measured: What they measured.
        logs: What the step reported.
    """
    loss = measured.loss if measured.loss is not None else _reported_loss(logs)
    ids = [id(variable) for variable in probes.model.variables]
    legend = Legend(
        variables=len(ids),
        places=len(probes.places),
        replicas=measured.replicas,
        has_loss=loss is not None,
        weights=_places_of(ids, measured.weights),
        gradients=_places_of(ids, measured.gradients),
        has_gradient=tuple(measured.has_gradient.get(one, math.nan) for one in ids),
        outputs=tuple(measured.order),
        judged=measured.judged if (measured.judged or 0) < probes.layers else None,
    )
    tensors = [
        tf.constant(math.nan) if loss is None else loss,
        tf.constant(1.0) if measured.scale is None else measured.scale,
        _stacked([measured.weights[ids[index]] for index in legend.weights]),
        _stacked([measured.gradients[ids[index]] for index in legend.gradients]),
        _stacked([measured.outputs[place] for place in legend.outputs]),
    ]
    return tensors, legend


def _reported_loss(logs: Any) -> Any:
    """The loss that a step of the program's own reports."""
    if not isinstance(logs, dict):
        return None
    loss = logs.get("loss")
    if loss is None:
        loss = next((logs[name] for name in logs if name.endswith("loss")), None)
    if loss is None:
        return None
    return tf.reduce_mean(tf.cast(loss, tf.float32))


def _places_of(ids: list[int], known: Mapping[int, Any]) -> tuple[int, ...]:
    return tuple(place for place, one in enumerate(ids) if one in known)


def _stacked(rows: list[Any]) -> Any:
    return tf.stack(rows) if rows else tf.zeros([0, 0])


def _table(
    length: int, columns: tuple[str, ...], at: tuple[int, ...], rows: Any
) -> Any:
    """A table with `rows` at some places, and NaN at all others."""
    table = np.full((length, len(columns)), np.nan)
    if at:
        table[list(at)] = rows
    return table


def _above_zero(numbers: Any) -> list[int]:
    return [int(index) for index in np.flatnonzero(numbers > 0)]
