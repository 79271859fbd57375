"""How far one training step moves each variable."""

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tb_health_plugin.recording.fitting.model_state import bytes_in

# Up to this size all weights are compared; of larger models, some of each variable.
_MOST_BYTES = 16 << 20
_SOME_NUMBERS = 1 << 16


class Updates:
    """Compares the weights before and after a step.

    Args:
        variables: Variables of TensorFlow, in the order of the answer.
    """

    def __init__(self, variables: list[Any]) -> None:
        self._variables = variables
        is_whole = bytes_in(variables) <= _MOST_BYTES
        self._most = None if is_whole else _SOME_NUMBERS

    def before(self) -> list[Any]:
        """To be called before the step; hand the result to `norms` after it."""
        return [self._part(variable) for variable in self._variables]

    def norms(self, before: list[Any]) -> list[float]:
        """Euclidean norm of the change, per variable."""
        after = self.before()
        return [
            _norm(old, new) * self._scale(variable)
            for old, new, variable in zip(before, after, self._variables, strict=True)
        ]

    def _part(self, variable: Any) -> Any:
        value = variable.value()
        return value if self._most is None else tf.reshape(value, [-1])[: self._most]

    def _scale(self, variable: Any) -> float:
        """What was left out is taken to move as much as what was compared."""
        if self._most is None:
            return 1.0
        return math.sqrt(max(1.0, variable.shape.num_elements() / self._most))


def _norm(old: Any, new: Any) -> float:
    with np.errstate(all="ignore"):  # infinities are a result here
        change = np.asarray(new, np.float64) - np.asarray(old, np.float64)
        norm = float(np.linalg.norm(change))
    return norm if math.isfinite(norm) else math.inf
