"""What the looks into a training say of each variable and each layer, by name."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.verdict import NotMeasured
from tb_health_plugin.events import facts

# Last parts of the names of variables that are not the weights of connections: they
# begin at 0 or 1 on purpose, so their scale says nothing.
_SIDE_NAMES = frozenset(
    [
        "bias",
        "gamma",
        "beta",
        "moving_mean",
        "moving_variance",
        "scale",
        "offset",
        "seed_generator_state",
        "count",
        "mean",
        "variance",
    ]
)

# Layers whose weights are looked up, not multiplied: most rows rest in most steps.
_LOOKUPS = ("Embedding",)

_GRADIENTS = "gradients and weights"
# How the recorder names what it gave up, and why it has to.
_GIVEN_UP = "gradients"
_SIDE_EFFECT = "has the operation"
_SIDE_EFFECT_OUT = (
    "Take printing, summaries and Python functions out of the training step: a close "
    "look runs the step once more, and these must not happen twice."
)


@dataclass(frozen=True, slots=True)
class SeenVariable:
    """One variable over all looks; NaN where a look did not measure it.

    Attributes:
        variable: Which one.
        steps: The step of each look.
        has_gradient, gradients, nonfinite, zeros, weights, updates: What was seen.
    """

    variable: facts.Variable
    steps: tuple[int, ...]
    has_gradient: tuple[float, ...]
    gradients: tuple[float, ...]
    nonfinite: tuple[float, ...]
    zeros: tuple[float, ...]
    weights: tuple[float, ...]
    updates: tuple[float, ...]

    @property
    def moved(self) -> bool:
        """Some step changed it, as far as was seen."""
        if any(update > 0 for update in self.updates):
            return True
        return len(set(known(self.weights))) > 1

    @property
    def gradient_sizes(self) -> list[float]:
        """Root of the mean square of its gradient at each look; NaN if unknown."""
        root = math.sqrt(max(self.variable.size or 1, 1))
        return [gradient / root for gradient in self.gradients]

    @property
    def update_ratios(self) -> list[float]:
        """Size of the update beside the size of the weights, at each look."""
        pairs = zip(self.updates, self.weights, strict=True)
        return [u / w if w > 0 else math.nan for u, w in pairs]


@dataclass(frozen=True, slots=True)
class SeenLayer:
    """One layer over all looks; NaN where a look did not measure it."""

    layer: facts.Layer
    steps: tuple[int, ...]
    dead: tuple[float, ...]
    saturated: tuple[float, ...]
    stds: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]


def gradients_not_measured(case: Case) -> NotMeasured:
    """Why no step was looked at, and what to do about it."""
    for gap in case.attempt.all(facts.RecordingStopped):
        if _GIVEN_UP not in (gap.what or ""):
            continue
        why = gap.why or "the recording of it failed"
        enable = _SIDE_EFFECT_OUT if _SIDE_EFFECT in why else None
        return NotMeasured(what=_GRADIENTS, why=why, enable=enable)
    return NotMeasured(
        what=_GRADIENTS,
        why="no step of this training was looked at closely",
        enable="Train longer than a few seconds, with HealthCallback or within "
        "tb_health_plugin.watch(...).",
    )


def known(values: Iterable[float]) -> list[float]:
    """Those that were measured and are finite."""
    return [value for value in values if math.isfinite(value)]


def middle(values: Iterable[float]) -> float | None:
    """The median of those that are known."""
    found = known(values)
    return statistics.median(found) if found else None


def looks(training: Training, before: int | None = None) -> list[facts.Inspected]:
    """The looks in order, up to but not at the step `before`."""
    found = sorted(training.inspections, key=lambda look: look.step)
    if before is None:
        return found
    return [look for look in found if look.step < before]


def variables(
    training: Training, seen: Sequence[facts.Inspected]
) -> list[SeenVariable]:
    """The variables that are meant to train, in the order of the model."""
    named = training.started.variables
    steps = tuple(look.step for look in seen)
    columns = zip(
        _columns(len(named), [look.has_gradient for look in seen]),
        _columns(len(named), [look.gradient_norms for look in seen]),
        _columns(len(named), [look.gradient_nonfinite for look in seen]),
        _columns(len(named), [look.gradient_zero_fractions for look in seen]),
        _columns(len(named), [look.weight_norms for look in seen]),
        _columns(len(named), [look.update_norms for look in seen]),
        strict=True,
    )
    return [
        SeenVariable(variable, steps, *column)
        for variable, column in zip(named, columns, strict=True)
        if variable.trainable is not False
    ]


def layers(training: Training, seen: Sequence[facts.Inspected]) -> list[SeenLayer]:
    """The layers in the order of the model."""
    named = training.started.layers
    steps = tuple(look.step for look in seen)
    columns = zip(
        _columns(len(named), [look.output_dead_fractions for look in seen]),
        _columns(len(named), [look.output_saturated_fractions for look in seen]),
        _columns(len(named), [look.output_stds for look in seen]),
        _columns(len(named), [look.output_minimums for look in seen]),
        _columns(len(named), [look.output_maximums for look in seen]),
        strict=True,
    )
    return [
        SeenLayer(layer, steps, *column)
        for layer, column in zip(named, columns, strict=True)
    ]


def kernels(training: Training, seen: Sequence[facts.Inspected]) -> list[SeenVariable]:
    """Of the variables, the weights of connections; tables to look up left out."""
    kinds = {layer.name: layer.kind for layer in training.started.layers}
    return [
        one
        for one in variables(training, seen)
        if is_kernel(one.variable)
        and not kinds.get(one.variable.layer, "").endswith(_LOOKUPS)
    ]


def is_kernel(variable: facts.Variable) -> bool:
    last = variable.name.rsplit("/", 1)[-1].split(":")[0]
    return last not in _SIDE_NAMES and (variable.size or 0) > 1


def layer_named(training: Training, name: str | None) -> facts.Layer | None:
    for layer in training.started.layers:
        if layer.name == name:
            return layer
    return None


def _columns(count: int, rows: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    """What the looks say of each of `count` things; NaN where one says nothing."""
    if not rows:
        return [()] * count
    if min(map(len, rows)) >= count:
        return list(zip(*rows, strict=False))[:count]
    missing = (math.nan,) * count
    return list(zip(*((*row, *missing)[:count] for row in rows), strict=True))
