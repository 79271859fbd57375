"""Gradients and losses out of a `tf.function`: a few small operations in its graph.

They stay in the functions that were traced meanwhile, which cannot go into a SavedModel
then. So this is for those who ask for it.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

# No norm is negative: nothing was written since the last look.
_NOTHING = -1.0


class GraphNorms:
    """One variable per traced `apply`, which holds a norm per gradient.

    Another one holds the loss that they are taken of, where nobody else tells it.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[list[Any], Any]] = []
        self._losses: list[Any] = []

    def add(
        self, placed: Sequence[tuple[int | None, Any, Any]], scale: Any, loss: Any
    ) -> None:
        """Called while tracing; adds the operations.

        Args:
            placed: Place of a variable, its gradient, and the variable.
            scale: What gradients are multiplied with; None if nothing.
            loss: The loss, a tensor of the same graph; None if it is not wanted.
        """
        import tensorflow as tf  # noqa: PLC0415 - loops may run without it

        if not placed:
            return
        numbers = [getattr(gradient, "values", gradient) for _, gradient, _ in placed]
        # Half the sum of squares; one operation, where a norm takes three.
        halves = tf.stack([tf.nn.l2_loss(tf.cast(n, tf.float32)) for n in numbers])
        norms = tf.sqrt(2.0 * halves)
        if scale is not None:
            norms = norms / tf.cast(tf.convert_to_tensor(scale), tf.float32)
        variable = _kept_outside(len(placed), _NOTHING)
        variable.assign(norms)
        self._kept.append(([one for _, _, one in placed], variable))
        if loss is not None and loss.graph is norms.graph:
            kept = _kept_outside(1, math.nan)
            mean = tf.reduce_mean(tf.cast(loss, tf.float32))
            # Whether it was written at all, too: a loss may be any number.
            seen = _kept_outside(1, 0.0)
            kept.assign(tf.reshape(mean, [1]))
            seen.assign([1.0])
            self._losses.append((seen, kept))

    def clear(self) -> None:
        for trained, norms in self._kept:
            norms.assign(np.full(len(trained), _NOTHING, np.float32))
        for seen, _ in self._losses:
            seen.assign(np.zeros(1, np.float32))

    def loss(self) -> float | None:
        """A loss that a step left since `clear`; None if none did.

        A function that was traced again, for batches of another shape, has two.
        """
        losses = [kept for seen, kept in self._losses if np.asarray(seen)[0]]
        return float(np.asarray(losses[-1])[0]) if losses else None

    def read(self) -> list[tuple[Any, float]]:
        """Each variable whose gradient was measured since `clear`, with the norm."""
        found = []
        for trained, norms in self._kept:
            for variable, value in zip(trained, np.asarray(norms), strict=True):
                if value != _NOTHING:
                    found.append((variable, float(value)))
        return found


def _kept_outside(size: int, value: float) -> Any:
    import tensorflow as tf  # noqa: PLC0415 - loops may run without it

    return _outside(
        lambda: tf.Variable(tf.fill([size], value), trainable=False, name="health")
    )


def _outside(make: Any) -> Any:
    """Runs it where no graph, strategy or scope is open: in a thread of its own."""
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(make()), daemon=True)
    thread.start()
    thread.join()
    return made[0]
