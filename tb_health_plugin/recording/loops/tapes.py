"""Sees what gradients are taken of: in a `tf.function` while it is traced, or eagerly.

For the time of a loop `tf.GradientTape.gradient` is a function that passes on. Nothing
is put into a graph: what is there is read.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded

WHAT = "the shapes that a loss compares"
LOSS = "the loss that gradients are taken of"
# Operations that compare two tensors number by number.
_DIFFERENCES = ("Sub", "SquaredDifference")
# Where values of variables come into a graph.
_READS = ("ReadVariableOp", "ResourceGather")
# A loss is near the comparison; a model may be large.
_MOST_NEAR, _MOST_FAR = 100, 20_000

_lock = threading.Lock()
# Replaced, never changed: somebody may be going through it.
_tapes: "tuple[Tapes, ...]" = ()


class Tapes:
    """What the tapes of one loop tell.

    Attributes:
        stretched: Shapes of outputs and targets that a loss compares each with all, as
            in "(8, 1) and (8,)"; None if no such loss was seen.
        keeps_losses: Keep what eager gradients are taken of.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._loss: Any = None
        self._traced: Any = None
        self.stretched: str | None = None
        self.keeps_losses = True

    def begin(self) -> None:
        global _tapes
        tape = _tape()
        if tape is None:
            return
        with _lock:
            if not _tapes:
                _put(tape)
            _tapes = (*_tapes, self)

    def end(self) -> None:
        global _tapes
        with _lock:
            if self not in _tapes:
                return
            _tapes = tuple(one for one in _tapes if one is not self)
            if not _tapes:
                _take_away(_tape())

    def saw(self, target: Any, sources: Any) -> None:
        """A gradient of `target` is taken in a graph."""
        with self._guard.protect(WHAT):
            # Several losses, or none of one tensor: nothing is said of those.
            if hasattr(target, "op"):
                self.stretched = self.stretched or stretched_in(target)
        with self._guard.protect(LOSS):
            is_loss = _is_one_loss(target) and _are_variables(sources)
            self._traced = target if is_loss else self._traced

    def saw_eager(self, target: Any, sources: Any) -> None:
        """A gradient of `target` is taken now."""
        if self.keeps_losses:
            guarded(self._guard, LOSS, self._keep, target, sources)

    def take_loss(self) -> Any:
        """The last loss that was kept; None if there was none since the last call."""
        taken, self._loss = self._loss, None
        return taken if self.keeps_losses else None

    def take_traced(self) -> Any:
        """The same for a loss in a graph that is being traced."""
        taken, self._traced = self._traced, None
        return taken if self.keeps_losses else None

    def _keep(self, target: Any, sources: Any) -> None:
        # A gradient with respect to inputs is part of a loss, not of an update.
        if _is_one_loss(target) and _are_variables(sources):
            self._loss = target


def stretched_in(target: Any) -> str | None:
    """Shapes `(rows, 1)` and `(rows,)` that are compared on the way to `target`.

    One of the two must come from variables and the other not: a loss that compares
    pairs of outputs, or of targets, has both from the same side.
    """
    for operation in _upstream(target, _MOST_NEAR):
        if operation.type not in _DIFFERENCES:
            continue
        first, second = operation.inputs
        for outputs, targets in ((first, second), (second, first)):
            text = compared(outputs, targets)
            if text and _is_learned(outputs) != _is_learned(targets):
                return text
    return None


def compared(outputs: Any, targets: Any) -> str | None:
    """The shapes, if each of `(rows, 1)` meets each of `(rows,)`; else None."""
    column, row = _sizes(outputs), _sizes(targets)
    if column is None or row is None or len(column) != 2 or len(row) != 1:
        return None
    rows = {column[0], row[0]} - {None}
    if column[1] != 1 or 1 in rows or len(rows) > 1:
        return None
    return f"{_text(column)} and {_text(row)}"


def _sizes(value: Any) -> tuple[int | None, ...] | None:
    """The shape of a tensor or an array; None if it has none, or not yet."""
    shape: Any = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape
    return None if getattr(shape, "rank", None) is None else tuple(shape)


def _is_one_loss(target: Any) -> bool:
    """One number, or one for each example."""
    rank = getattr(getattr(target, "shape", None), "rank", None)
    return rank is not None and rank <= 1


def _are_variables(sources: Any) -> bool:
    while isinstance(sources, list | tuple | dict) and sources:
        sources = next(iter(sources.values() if isinstance(sources, dict) else sources))
    return hasattr(sources, "assign")


def _is_learned(tensor: Any) -> bool:
    return any(one.type in _READS for one in _upstream(tensor, _MOST_FAR))


def _upstream(tensor: Any, most: int) -> Iterator[Any]:
    """Operations that a tensor comes from, the nearest first."""
    seen = {tensor.op.name}
    waiting = deque([tensor.op])
    while waiting and len(seen) < most:
        operation = waiting.popleft()
        yield operation
        for one in operation.inputs:
            if one.op.name not in seen:
                seen.add(one.op.name)
                waiting.append(one.op)


def _text(shape: tuple[int | None, ...]) -> str:
    sizes = ["rows" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _tape() -> Any:
    tf = sys.modules.get("tensorflow")
    return getattr(tf, "GradientTape", None)


def _put(tape: Any) -> None:
    inner: Callable[..., Any] = tape.gradient
    tf: Any = sys.modules["tensorflow"]

    def gradient(self: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        sources = args[0] if args else kwargs.get("sources")
        if inside_function():
            for one in _tapes:
                one.saw(target, sources)
        else:
            for one in _tapes:
                one.saw_eager(target, sources)
        return inner(self, target, *args, **kwargs)

    passing: Any = tf.autograph.experimental.do_not_convert(gradient)
    passing.passes_on_to = inner
    tape.gradient = passing


def _take_away(tape: Any) -> None:
    """Where somebody wrapped us meanwhile, we only pass on."""
    inner = getattr(tape.gradient, "passes_on_to", None)
    if inner is not None:
        tape.gradient = inner
