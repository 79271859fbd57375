"""How far one training step moves each variable."""

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tb_health_plugin.recording.fitting.model_state import bytes_in
from tb_health_plugin.recording.loops.numbers import norm

# Up to this size all weights are compared; of larger models some of each variable,
# spread over all of it. To keep a value costs its copy when it is next written.
_MOST_BYTES = 4 << 20
_SOME_NUMBERS = 1 << 16


class Updates:
    """Compares the weights before and after a step.

    Args:
        variables: Variables of TensorFlow, in the order of the answer.
    """

    def __init__(self, variables: list[Any]) -> None:
        self._variables = variables
        self._is_whole = bytes_in(variables) <= _MOST_BYTES

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
        return value if self._is_whole else tf.reshape(value, [-1])[:: _apart(value)]

    def _scale(self, variable: Any) -> float:
        """What was left out is taken to move as much as what was compared."""
        if self._is_whole:
            return 1.0
        size = variable.shape.num_elements()
        return math.sqrt(size / max(1, math.ceil(size / _apart(variable))))


def _apart(variable: Any) -> int:
    """Which numbers are compared: one in so many.

    An odd number, so that all columns of a matrix get their turn.
    """
    size = int(variable.shape.num_elements() or 0)
    return size // _SOME_NUMBERS | 1


def _norm(old: Any, new: Any) -> float:
    with np.errstate(all="ignore"):  # infinities are a result here
        length = norm(np.asarray(new) - np.asarray(old))
    return length if math.isfinite(length) else math.inf
