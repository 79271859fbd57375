"""Sees gradients on their way into the optimizers of a loop.

In eager loops they are numbers, and each step's can be looked at. Inside a
`tf.function` an optimizer is called only while the function is traced: then it is seen
which variables get a gradient at all.
"""

import functools
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops.budget import (
    CHECK_SHARE,
    FREE_CHECK_SECONDS,
    Budget,
)
from tb_health_plugin.recording.loops.graph_norms import GraphNorms
from tb_health_plugin.recording.loops.numbers import (
    inside_function,
    is_on_gpu,
    norm,
    to_array,
)
from tb_health_plugin.recording.loops.quick_guard import guarded
from tb_health_plugin.recording.loops.weights import Weights, path_of

WHAT = "gradients"


@dataclass(slots=True)
class StepGradients:
    """What was seen of the gradients of one step.

    Attributes:
        norms: By place of the variable.
        nonfinite: Numbers that are not finite, by place; only of close looks.
        zero_fractions: Share of zeros, by place; only of close looks.
        squares: Sum of the squares of all norms; None if none was measured.
        bad: Names of variables with a gradient that is not finite.
        weights_were_bad: Names of weights that were not finite before the update;
            only looked for if a gradient is bad.
    """

    norms: dict[int, float] = field(default_factory=dict)
    nonfinite: dict[int, float] = field(default_factory=dict)
    zero_fractions: dict[int, float] = field(default_factory=dict)
    squares: float | None = None
    bad: list[str] = field(default_factory=list)
    weights_were_bad: list[str] = field(default_factory=list)

    @property
    def norm(self) -> float | None:
        return None if self.squares is None else math.sqrt(self.squares)


# Of a step whose gradients were not seen.
NOTHING = StepGradients()


class Gradients:
    """Stands in front of `apply` of every optimizer of a loop.

    Args:
        fit: The training.
        weights: The variables that gradients belong to.
        optimizers: The optimizers.
        in_graphs: Measure inside of `tf.function`, too.
        traced_loss: Tells the loss of the step that is being traced; None if that is
            told by the program.
        applied: Told whenever an eager `apply` begins, with the number of calls of
            the optimizer that was called most.

    Attributes:
        calls: Eager calls of each optimizer.
        done: How many of those have come back.
        guard: Keeps faults of ours away from the loop.
        traced: Calls of each while a function was traced.
        close: The next gradients are to be looked at closely.
        step: What was seen since `take`; None if nothing was.
    """

    def __init__(
        self,
        fit: Fit,
        weights: Weights,
        optimizers: Sequence[Any],
        *,
        in_graphs: bool,
        traced_loss: Callable[[], Any],
        applied: Callable[[int], None],
    ) -> None:
        self.calls = [0] * len(optimizers)
        self.done = [0] * len(optimizers)
        self.traced = [0] * len(optimizers)
        self.close = False
        self.step: StepGradients | None = None
        self.guard = fit.guard
        self._fit = fit
        self._weights = weights
        self._applied = applied
        # By id: places change when models make more variables.
        self._connected: dict[int, bool] = {}
        self._graph_norms = GraphNorms() if in_graphs else None
        self._traced_loss = traced_loss
        self._checks = Budget(CHECK_SHARE, free_seconds=FREE_CHECK_SECONDS)
        self._around = [
            _Apply(self, number, one)
            for number, one in enumerate(optimizers)
            if _is_keras(one)
        ]

    def begin(self) -> None:
        for around in self._around:
            around.put()
            self._fit.spent.traces = 0

    def follow(self, optimizer: Any) -> None:
        """One more optimizer, while the loop runs."""
        self.calls.append(0)
        self.done.append(0)
        self.traced.append(0)
        around = _Apply(self, len(self.calls) - 1, optimizer)
        self._around.append(around)
        around.put()

    def end(self) -> None:
        for around in self._around:
            around.remove()
        self._around.clear()

    @property
    def are_all_seen(self) -> bool:
        """Every optimizer was called, or traced, at least once."""
        return bool(self._around) and all(
            sum(both) for both in zip(self.calls, self.traced, strict=True)
        )

    @property
    def come_eagerly(self) -> bool:
        return any(self.calls)

    def is_connected(self, variable: Any) -> bool | None:
        """Whether it ever got a gradient; None if no optimizer was given it."""
        return self._connected.get(id(variable))

    def look_closely(self) -> None:
        """The next step is to be looked at."""
        self.close = True
        if self._graph_norms is not None:
            self._graph_norms.clear()

    def inside(self) -> tuple[float | None, StepGradients]:
        """Loss and gradients that functions left since the last call."""
        seen = StepGradients()
        if self._graph_norms is None:
            return None, seen
        for variable, value in self._graph_norms.read():
            _add(seen, self._weights.place(variable), value, path_of(variable))
        # Each variable once, also where a function was traced for several shapes.
        seen.squares = sum(norm * norm for norm in seen.norms.values())
        loss = self._graph_norms.loss()
        self._graph_norms.clear()
        return loss, seen

    def take(self, *, look_ends: bool) -> StepGradients:
        """What was seen since the last call."""
        taken, self.step = self.step, None
        if look_ends and self._graph_norms is not None:
            taken = taken or StepGradients()
            for variable, value in self._graph_norms.read():
                place = self._weights.place(variable)
                _add(taken, place, value, path_of(variable))
        self.close = self.close and not look_ends
        return taken or NOTHING

    def saw(
        self, number: int, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Looks at the arguments of an `apply`; returns what to call it with."""
        if self._fit.guard.is_off(WHAT):
            return args, kwargs
        # Only lists can be looked at and still be handed on.
        given, args, kwargs = _listed(args, kwargs)
        with self._fit.guard.protect(WHAT):
            if inside_function():
                self._trace(number, optimizer, *given)
            elif _is_first_replica():
                self.calls[number] += 1
                self._applied(max(self.calls))
                self._eager(optimizer, *given)
        return args, kwargs

    def came_back(self, number: int) -> None:
        """An `apply` has done its work, or was traced."""
        self.done[number] = self.calls[number]

    def _trace(
        self, number: int, optimizer: Any, gradients: list[Any], variables: list[Any]
    ) -> None:
        self.traced[number] += 1
        if self.traced[number] == max(self.traced):
            self._fit.spent.traces = (self._fit.spent.traces or 0) + 1
        placed = self._note_connections(gradients, variables)
        if self._graph_norms is not None and not _has_strategy():
            scale = scale_of(optimizer)
            # A scaled one overflows now and then, and means nothing.
            loss = self._traced_loss() if scale is None else None
            self._graph_norms.add(placed, scale, loss)

    def _eager(
        self, optimizer: Any, gradients: list[Any], variables: list[Any]
    ) -> None:
        began = time.perf_counter()
        if not self.close and not self._checks.allows(began):
            return
        placed = self._note_connections(gradients, variables)
        if any(is_on_gpu(gradient) for _, gradient, _ in placed) and not self.close:
            return
        step = self.step = self.step or StepGradients()
        scale = scale_of(optimizer)
        factor = 1.0 if scale is None else 1.0 / float(np.asarray(scale))
        for place, gradient, variable in placed:
            array = to_array(gradient)
            name = path_of(variable) if place is None else self._weights.names[place]
            _add(step, place, factor * norm(array), name)
            if self.close and place is not None:
                finite = np.isfinite(array.astype(np.float32, copy=False))
                step.nonfinite[place] = float(finite.size - finite.sum())
                zeros = array.size - np.count_nonzero(array)
                step.zero_fractions[place] = zeros / max(1, array.size)
        if step.bad and scale is not None:
            # A scaled loss overflows now and then, and such a step is left out.
            step.bad.clear()
        elif step.bad:
            step.weights_were_bad = self._weights.bad_ones()
        self._checks.spent += time.perf_counter() - began

    def _note_connections(
        self, gradients: list[Any], variables: list[Any]
    ) -> list[tuple[int | None, Any, Any]]:
        """Which variables get a gradient; returns those gradients with their places."""
        if not variables:
            # The optimizer takes what it was built with: the trained ones, mostly.
            weights = self._weights
            every = zip(weights.variables, weights.trainable, strict=True)
            variables = [variable for variable, trainable in every if trainable]
            if len(variables) != len(gradients):
                return []
        if self._weights.adopt(variables):
            self._weights.refresh()
        placed = []
        for gradient, variable in zip(gradients, variables, strict=True):
            place = self._weights.place(variable)
            if place is not None:
                key, is_there = id(self._weights.variables[place]), gradient is not None
                self._connected[key] = self._connected.get(key, False) or is_there
            if gradient is not None:
                placed.append((place, gradient, variable))
        return placed


class _Apply(Around):
    """The method of one optimizer."""

    def __init__(self, gradients: Gradients, number: int, optimizer: Any) -> None:
        super().__init__(optimizer, "apply")
        tf: Any = sys.modules["tensorflow"]
        self._number = number
        # Only what is ours: what it calls stays with autograph.
        untouched = tf.autograph.experimental.do_not_convert
        self._saw = untouched(gradients.saw)
        self._came_back = untouched(
            functools.partial(guarded, gradients.guard, WHAT, gradients.came_back)
        )

    def call(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._saw(self._number, self._holder, args, kwargs)
        result = self._inner(*args, **kwargs)
        self._came_back(self._number)
        return result


def _add(step: StepGradients, place: int | None, value: float, name: str) -> None:
    step.squares = (step.squares or 0.0) + value * value
    if place is not None:
        # Accumulated in one step by hand, or by two optimizers: the last one counts.
        step.norms[place] = value
    if not math.isfinite(value):
        step.bad.append(name)


def _listed(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[list[Any], list[Any]], tuple[Any, ...], dict[str, Any]]:
    """Gradients and variables, and the arguments with lists in their places."""
    names = ("grads", "trainable_variables")
    found = dict(zip(names, args, strict=False)) | kwargs
    lists = {n: list(found[n]) for n in names if found.get(n) is not None}
    args = tuple(lists.get(n, a) for n, a in zip(names, args, strict=False))
    kwargs = {n: lists.get(n, a) for n, a in kwargs.items()}
    return (lists.get("grads", []), lists.get("trainable_variables", [])), args, kwargs


def _is_keras(optimizer: Any) -> bool:
    """True for optimizers of Keras on TensorFlow: only of those do we know `apply`."""
    keras = sys.modules.get("keras")
    return (
        keras is not None
        and "tensorflow" in sys.modules
        and keras.backend.backend() == "tensorflow"
        and isinstance(optimizer, keras.optimizers.Optimizer)
    )


def scale_of(optimizer: Any) -> Any:
    """The factor that a LossScaleOptimizer has on its gradients; None without one."""
    first = getattr(optimizer, "initial_scale", None)
    return getattr(optimizer, "dynamic_scale", first)


def _has_strategy() -> bool:
    return bool(sys.modules["tensorflow"].distribute.has_strategy())


def _is_first_replica() -> bool:
    """False in the threads of all replicas but one: a step counts once."""
    context = sys.modules["tensorflow"].distribute.get_replica_context()
    return context is None or int(context.replica_id_in_sync_group) == 0
