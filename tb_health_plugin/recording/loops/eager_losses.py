"""Sees whether an eager loss compares each output with each target, in its first steps.

In a graph the way to a loss can be read; an eager one leaves no trace. So for the first
steps of a loop we stand in front of the minus of tensors, and look at shapes alone.
"""

import sys
from collections.abc import Callable
from typing import Any

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.loops.batches import Batches
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded
from tb_health_plugin.recording.loops.tapes import WHAT, Tapes, compared

# The first one may only make variables.
STEPS = 3


class EagerLosses:
    """Watches differences of tensors from the beginning of a loop for a few steps.

    Only those between something computed and a tensor that came in a batch count: a
    loss that compares outputs with each other means to.

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
        kind, inner = tf.Tensor, tf.Tensor.__sub__

        def minus(first: Any, second: Any) -> Any:
            if self._undo is not None and not inside_function():
                guarded(self._guard, WHAT, self._saw, tf, first, second)
            return inner(first, second)

        passing = tf.autograph.experimental.do_not_convert(minus)
        kind.__sub__ = passing

        def undo() -> None:
            # Where somebody wrapped us meanwhile, we only pass on.
            if kind.__sub__ is passing:
                kind.__sub__ = inner

        self._undo = undo

    def end(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def _saw(self, tf: Any, first: Any, second: Any) -> None:
        if self._done() >= STEPS:
            self.end()
            return
        for outputs, targets in ((first, second), (second, first)):
            given = tf.nest.flatten(self._batches.last)
            text = compared(outputs, targets)
            is_target = any(one is targets for one in given)
            if text and is_target and not any(one is outputs for one in given):
                self._tapes.stretched = self._tapes.stretched or text
