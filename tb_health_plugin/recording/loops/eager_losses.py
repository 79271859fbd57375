"""Sees whether an eager loss compares each output with each target, in its first steps.

In a graph the way to a loss can be read; an eager one leaves no trace. So for the first
steps of a loop we stand in front of the minus of tensors, and look at shapes alone.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.loops.batches import Batches
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded
from tb_health_plugin.recording.loops.tapes import WHAT, Tapes, compared

# The first one may only make variables.
STEPS = 3


class EagerLosses:
    """Watches differences of tensors from the beginning of a loop for a few steps.

    Only those between something computed and a tensor that came in a batch, or an array
    of numpy, count: a loss that compares outputs with each other means to.

    Args:
        guard: Keeps faults of ours away from the loop.
        batches: Where the batch of this step is.
        tapes: Told what was seen.
        done: How many steps have ended.
    """

    def __init__(
        self, guard: Guard, batches: Batches, tapes: Tapes, done: Callable[[], int]
    ) -> None:
        self._guard = guard
        self._batches = batches
        self._tapes = tapes
        self._done = done
        self._undo: Callable[[], None] | None = None

    def begin(self) -> None:
        tf: Any = sys.modules.get("tensorflow")
        if tf is None:
            return
        undone = [self._stand_before(tf, name) for name in ("__sub__", "__rsub__")]

        def undo() -> None:
            for one in undone:
                one()

        self._undo = undo

    def end(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def _stand_before(self, tf: Any, name: str) -> Callable[[], None]:
        """Looks at one operator of tensors; returns what ends that."""
        kind, inner = tf.Tensor, getattr(tf.Tensor, name)

        def minus(first: Any, second: Any) -> Any:
            if self._undo is not None and not inside_function():
                guarded(self._guard, WHAT, self._saw, tf, first, second)
            return inner(first, second)

        passing = tf.autograph.experimental.do_not_convert(minus)
        setattr(kind, name, passing)

        def undo() -> None:
            # Where somebody wrapped us meanwhile, we only pass on.
            if getattr(kind, name) is passing:
                setattr(kind, name, inner)

        return undo

    def _saw(self, tf: Any, first: Any, second: Any) -> None:
        if self._done() >= STEPS:
            self.end()
            return
        given = tf.nest.flatten(self._batches.last)
        for outputs, targets in ((first, second), (second, first)):
            text = compared(outputs, targets)
            if text and _is_given(targets, given) and not _is_given(outputs, given):
                self._tapes.stretched = self._tapes.stretched or text


def _is_given(value: Any, given: list[Any]) -> bool:
    """It was not computed by the model: from a batch, or no tensor at all."""
    return isinstance(value, np.ndarray) or any(one is value for one in given)
