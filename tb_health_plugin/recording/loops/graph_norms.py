"""Norms of gradients out of a `tf.function`: a few small operations put into its graph.

They stay in the functions that were traced meanwhile, which cannot go into a SavedModel
then. So this is for those who ask for it.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

# No norm is negative: nothing was written since the last look.
_NOTHING = -1.0


class GraphNorms:
    """One variable per traced `apply`, which holds a norm per gradient."""

    def __init__(self) -> None:
        self._kept: list[tuple[list[Any], Any]] = []

    def add(self, placed: Sequence[tuple[int | None, Any, Any]], scale: Any) -> None:
        """Called while tracing; adds the operations.

        Args:
            placed: Place of a variable, its gradient, and the variable.
            scale: What gradients are multiplied with; None if nothing.
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
        variable = _outside(
            lambda: tf.Variable(
                tf.fill([len(placed)], _NOTHING), trainable=False, name="health"
            )
        )
        variable.assign(norms)
        self._kept.append(([one for _, _, one in placed], variable))

    def clear(self) -> None:
        for trained, norms in self._kept:
            norms.assign(np.full(len(trained), _NOTHING, np.float32))

    def read(self) -> list[tuple[Any, float]]:
        """Each variable whose gradient was measured since `clear`, with the norm."""
        found = []
        for trained, norms in self._kept:
            for variable, value in zip(trained, np.asarray(norms), strict=True):
                if value != _NOTHING:
                    found.append((variable, float(value)))
        return found


def _outside(make: Any) -> Any:
    """Runs it where no graph, strategy or scope is open: in a thread of its own."""
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(make()), daemon=True)
    thread.start()
    thread.join()
    return made[0]
