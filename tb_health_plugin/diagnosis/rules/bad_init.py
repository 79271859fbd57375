"""The weights the training began with keep it from learning.

**What it means.** If all weights of neighbouring layers begin with the same number, all
units of a layer compute the same and get the same gradient for ever; with 0 there is
often no gradient at all. If they begin far too large, outputs and gradients explode;
far too small, and nothing comes through. NaN in weights that were loaded spoil all.

**How we know.** The weights were measured before the first update, and the initializers
that the layers name were read. Apart from constant weights it is named only if the
training failed to learn.

**What it is mistaken for.** A learning rate that is wrong. No rate repairs equal units.
A last layer that begins at 0, or a residual branch that does, is healthy and never
named.

**What to do.** Use the default initializers (glorot_uniform; he_normal for ReLU). Only
biases begin at 0.
"""

import itertools
import math
import re
from collections.abc import Mapping

from tb_health_plugin.diagnosis import inspections, loss_course
from tb_health_plugin.diagnosis.bad_numbers import BadNumber, explained_ends, first_bad
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import names, short, times
from tb_health_plugin.diagnosis.inspections import SeenVariable
from tb_health_plugin.diagnosis.learning import (
    NOT_BETTER,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.magnitudes import is_unscaled
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Severity,
    Verdict,
)

# Root of the mean square of weights times the root of the inputs of a unit: 1 (glorot)
# to 1.4 (he) keeps the scale of what comes in.
TOO_LARGE = 4.0
TOO_SMALL = 0.01

# Of the weights are off: a single odd layer is often meant so.
MOST = 0.5

# What rounding and the first updates may add to weights that began equal.
EQUAL = 0.02

# Weights changed by no more than this in a step still are about as they began.
SMALL_UPDATE = 0.1

# Until here weights still are about as they began.
EARLY_STEPS = 3

LEAST_STEPS = 30

_EXPLAINS = (
    "dead_relu",
    "vanishing_gradients",
    "exploding_gradients",
    "lr_too_high",
    "lr_too_low",
    "weights_not_updated",
    "nan_op",
    "unscaled_data",
)


def judge(case: Case) -> Outcome:
    bad = first_bad(case)
    training = main_training(case)
    if bad is not None and bad.lasting and bad.origin == "start":
        return _nan_weights(case, bad)
    if training is None or (training.steps < LEAST_STEPS and bad is None):
        return None
    lost = bad is not None and bad.lasting
    if lost and bad is not None and bad.origin not in ("gradients", "growth"):
        return None
    seen = inspections.looks(training, bad.step if bad and lost else None)
    kernels = inspections.kernels(training, seen)
    failed = lost or loss_course.has_learned(training) is False
    stuck = _stuck_at_zero(case, training, kernels) if failed else None
    found = stuck or _equal_units(case, training, kernels, failed)
    if found is None and failed:
        found = _off_scale(case, training, kernels)
    if found is None and not training.inspections:
        return inspections.gradients_not_measured(case)
    return found


def _nan_weights(case: Case, bad: BadNumber) -> Verdict:
    name = bad.fact.name
    where = f" ({name})" if name else ""
    return Verdict(
        id="bad_init",
        detail="nan_weights",
        severity="critical",
        confidence="proven" if bad.fact.exact else "likely",
        headline=f"The weights held NaN before the first step{where}",
        because="They were looked at before any update of this training.",
        cause_at=bad.at,
        stopped_at=case.stopped_at,
        place={"variable": name} if name else {},
        evidence=(
            Evidence(text="The weights were bad before the first update.", at=bad.at),
        ),
        fixes=(
            Fix(
                title="Load an older checkpoint, from before the NaN",
                why="The weights came in like this: from a file, an initializer or an "
                "earlier training that had already failed.",
                code="assert all(np.isfinite(w).all() for w in model.get_weights())",
            ),
        ),
        chip="NaN weights",
        explains=("nan_op", *explained_ends(case)),
    )


def _stuck_at_zero(
    case: Case, training: Training, kernels: list[SeenVariable]
) -> Verdict | None:
    stuck = [
        one
        for one in kernels
        if inspections.known(one.weights)
        and not any(inspections.known(one.weights))
        and not any(gradient > 0 for gradient in one.gradients)
        and any(gradient == 0 for gradient in one.gradients)
    ]
    if not stuck:
        return None
    layers = list(dict.fromkeys(one.variable.layer for one in stuck))
    return _verdict(
        case,
        training,
        detail="zeros",
        severity="critical",
        confidence="proven",
        headline=f"The weights of {names(layers, 2)} began at 0 and cannot leave it",
        because="They were exactly 0 at every look, and so were their gradients.",
        evidence=[
            f"The weights of {names(layers)} were 0 at {_looks(stuck[0])}, and got no "
            "gradient."
        ],
        layers=layers,
    )


def _looks(one: SeenVariable) -> str:
    count = len(one.steps)
    return f"all {count:,} looks" if count > 1 else "the only look"


def _equal_units(
    case: Case, training: Training, kernels: list[SeenVariable], failed: bool
) -> Verdict | None:
    by_layer = {one.variable.layer: one for one in kernels}
    first = training.started.first_step or 0
    made = [
        (layer.name, _is_constant(layer.settings, by_layer[layer.name], first))
        for layer in training.started.layers
        if layer.name in by_layer
    ]
    # The units before a layer of equal weights all get the same gradient.
    pairs = [
        name
        for (name, constant), (_, next_one) in itertools.pairwise(made)
        if constant and next_one
    ]
    everything = all(constant for _, constant in made)
    seen = all(_is_early(one, first) for one in kernels)
    sure = everything and (seen or _began_untrained(training))
    if not pairs or not (failed or sure):
        return None
    return _verdict(
        case,
        training,
        detail="equal",
        severity="critical" if failed else "warning",
        confidence="likely",
        headline=f"All weights of {names(pairs, 2)} began equal, so all units learn "
        "alike",
        because="The initializers say so"
        + (" and the size of the weights confirms it." if seen else "."),
        evidence=[
            f"{len(pairs) + 1:,} neighbouring layers began with one number for all "
            "weights."
        ],
        layers=pairs,
    )


def _began_untrained(training: Training) -> bool:
    """It began no better than guessing: no trained weights were loaded into it."""
    learned = learning_of(training)
    base = learned.baseline.loss if learned.baseline else None
    if base is None or learned.start is None:
        return False
    return learned.start >= NOT_BETTER * base


def _is_constant(settings: Mapping[str, str], seen: SeenVariable, first: int) -> bool:
    """Its initializer gives one number to all, and nothing else was loaded."""
    told = settings.get("kernel_initializer", "")
    size = max(seen.variable.size or 1, 1)
    if told.lower().startswith("zeros"):
        value = 0.0
    elif told.lower().startswith("ones"):
        value = 1.0
    elif found := re.match(r"constant\(.*?value=([-\d.e+]+)", told, re.IGNORECASE):
        value = float(found.group(1))
    else:
        return False
    if not _is_early(seen, first):
        return True
    expected = abs(value) * math.sqrt(size)
    began = seen.weights[0]
    return abs(began - expected) <= EQUAL * max(expected, math.sqrt(size))


def _is_early(seen: SeenVariable, first: int) -> bool:
    """It was measured while it still was about as it began."""
    if not inspections.known(seen.weights[:1]):
        return False
    step, ratio = seen.steps[0] - first, seen.update_ratios[0]
    return step == 0 or (step <= EARLY_STEPS and not ratio > SMALL_UPDATE)


def _off_scale(
    case: Case, training: Training, kernels: list[SeenVariable]
) -> Verdict | None:
    gains = {
        one.variable.layer: gain
        for one in kernels
        if (gain := _gain(training, one)) is not None
    }
    large = [name for name, gain in gains.items() if gain >= TOO_LARGE]
    small = [name for name, gain in gains.items() if 0 < gain <= TOO_SMALL]
    off = large if len(large) >= len(small) else small
    if len(off) < max(1, MOST * len(gains)):
        return None
    if off is large and is_unscaled(training):
        return None
    word = "large" if off is large else "small"
    gain = gains[off[0]]
    factor = gain if off is large else 1 / gain
    return _verdict(
        case,
        training,
        detail=f"too_{word}",
        severity="critical",
        confidence="likely",
        headline=f"The initial weights are about {times(factor)} too {word} in "
        f"{len(off):,} of {len(gains):,} layers",
        because="So they were before or just after the first updates, or so their "
        "initializers make them; and the run did not learn.",
        evidence=[
            f"The weights of {names(off)} began at about {short(gains[off[0]])} times "
            "the size that keeps the scale of what comes in."
        ],
        layers=off,
    )


def _gain(training: Training, seen: SeenVariable) -> float | None:
    """By how much the layer scales what comes in, from the size of its weights."""
    layer = inspections.layer_named(training, seen.variable.layer)
    size, units = seen.variable.size, layer.units if layer else None
    if layer is None or not size or not units or not 0 < units <= size:
        return None
    if not layer.kind.startswith(("Dense", "Conv")):
        return None
    inputs = math.sqrt(size / units)
    if _is_early(seen, training.started.first_step or 0):
        return seen.weights[0] / math.sqrt(size) * inputs
    told = _told_size(layer.settings.get("kernel_initializer", ""))
    return None if told is None else told * inputs


def _told_size(initializer: str) -> float | None:
    """The size of weights that an initializer without regard for inputs makes."""
    if found := re.match(r"\w*Normal\(.*?stddev=([-\d.e+]+)", initializer):
        return abs(float(found.group(1)))
    if found := re.match(r"RandomUniform\(.*?maxval=([-\d.e+]+)", initializer):
        return abs(float(found.group(1))) / math.sqrt(3)
    return None


def _verdict(
    case: Case,
    training: Training,
    *,
    detail: str,
    severity: Severity,
    confidence: Confidence,
    headline: str,
    because: str,
    evidence: list[str],
    layers: list[str],
) -> Verdict:
    at = Moment(step=training.started.first_step or 0, epoch=1)
    layer = inspections.layer_named(training, layers[0])
    told = layer.settings.get("kernel_initializer", "") if layer else ""
    initializer = (
        '"he_normal"' if layer and "relu" in layer.activation else '"glorot_uniform"'
    )
    texts = [Evidence(text=text, at=at) for text in evidence]
    if told:
        text = f"The initializer of {layers[0]} is {told}."
        texts.append(Evidence(text=text, strong=False, at=at))
    return Verdict(
        id="bad_init",
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": layers[0]},
        evidence=tuple(texts),
        fixes=(
            Fix(
                title=f"Use a random initializer for {names(layers)}",
                why="Units have to begin different from each other and on the scale "
                "of their inputs.",
                code=f"kernel_initializer={initializer}",
            ),
        ),
        chip="Bad initial weights",
        explains=(*_EXPLAINS, *explained_ends(case)),
    )


RULE = Rule(id="bad_init", judge=judge)
