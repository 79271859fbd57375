"""Features or targets are on a scale on which this model cannot train.

**What it means.** Layers and learning rates are made for numbers around 1. Features in
the hundreds make outputs and gradients huge; features of very different size let the
largest drown the others; targets in the thousands take an output that starts at 0 for
ever to reach. Then the loss explodes, stands still or becomes NaN.

**How we know.** Scale and spread of the batches are measured as they go into the model.
Large numbers alone are no fault: we speak only if the run did not learn either, and if
nothing in the model scales its inputs (a Normalization, Rescaling or batch
normalization layer at its beginning); or if a layer was saturated for every row in
every look, with gradients of exactly 0.

**What it is mistaken for.** A learning rate that is too high, exploding gradients, dead
units. Lowering the rate helps a little; scaling the data helps for good.

**What to do.** Bring every feature to mean 0 and spread 1 with the numbers of the
training data; do the same with the targets of a regression.
"""

import dataclasses
import math

from tb_health_plugin.diagnosis import inspections
from tb_health_plugin.diagnosis.baseline import LEAST_ROWS
from tb_health_plugin.diagnosis.batches import Tensor, inputs_of, target_of
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import looks, short
from tb_health_plugin.diagnosis.heads import REGRESSIONS, Head, head_of
from tb_health_plugin.diagnosis.inspections import SeenLayer
from tb_health_plugin.diagnosis.learning import (
    Learning,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Verdict

# Pixels from 0 to 255 have a spread of 50 to 80. Scaled data has one of about 1.
LARGE_INPUT = Option(
    "large_input",
    20.0,
    "Mean or spread of an input from which on it is too large to train well.",
)
# Beside features that are a thousand times larger, one is not heard.
UNEQUAL = 1_000.0
LARGE_FEATURE = 10.0
# Too small to tell from the noise of the first weights.
TINY_INPUT = 1e-3
# An output starts at about 0 and moves by about a learning rate per step.
LARGE_TARGET = Option(
    "large_target",
    100.0,
    "Mean or spread of a target from which on it is too large to train well.",
)
# The loss was thrown up by this factor above that of a constant answer, and fell back
# to just that, within this share: what is left of the model is its last bias.
THROWN_UP = 100.0
FELL_BACK = 0.03
LEAST_EPOCHS_BACK = 3
# The loss grew by this factor before it became NaN: it was driven, not struck.
GREW = 10.0
# A layer that nothing passes.
SATURATED = 0.999
# Beyond 0 and 1 by more than rounding.
BEYOND = 0.05
MOST_CLASSES = 32
# Higher rates may fail on good data too.
USUAL_RATE = 0.1

# Layers that scale what they get.
_SCALING = (
    "Normalization",
    "Rescaling",
    "BatchNormalization",
    "LayerNormalization",
    "GroupNormalization",
    "UnitNormalization",
    "RMSNormalization",
    "Discretization",
    "Hashing",
    "CategoryEncoding",
)
# How many layers from the beginning such a layer may come.
_FIRST_LAYERS = 3
_EXPLAINS = (
    "not_learning",
    "lr_too_high",
    "lr_too_low",
    "exploding_gradients",
    "vanishing_gradients",
    "dead_relu",
    "bad_init",
    "undertrained",
)


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None or not training.batches:
        return None
    head, target = head_of(training), target_of(training)
    learned = learning_of(training)
    not_probabilities = _not_probabilities(head, target)
    if not_probabilities and target is not None:
        return _verdict(case, training, learned, target, not_probabilities, "targets")
    deaf = _deaf(training)
    if not _is_bad(training, learned):
        # What comes in another way may be learned all the same.
        return _deafening(case, training, learned, deaf) if deaf else None
    constant = _constant(training)
    if constant is not None:
        return _nothing_to_learn_from(case, training, learned, constant)
    if target is not None and head is not None and head.kind in REGRESSIONS:
        words = _large_target(target, learned, case.tuned(LARGE_TARGET))
        if words:
            return _verdict(case, training, learned, target, words, "targets")
    if _scales_itself(training):
        return _deafening(case, training, learned, deaf) if deaf else None
    looked_up = any(layer.kind == "Embedding" for layer in training.started.layers)
    for tensor in inputs_of(training):
        if looked_up and tensor.whole_numbers is not False:
            # Places in a table have no scale. What else goes in has one.
            continue
        words = _wrong_input(tensor, case.tuned(LARGE_INPUT))
        if words:
            return _verdict(case, training, learned, tensor, words, "features")
    return None


def _deaf(training: Training) -> SeenLayer | None:
    """A layer that was all the way up or down in every look, and so never learned."""
    seen = inspections.looks(training)
    if not seen:
        return None
    variables = inspections.variables(training, seen)
    for one in inspections.layers(training, seen):
        own = [v for v in variables if v.variable.layer == one.layer.name]
        rests = own and all(share >= SATURATED for v in own for share in v.zeros)
        if rests and all(share >= SATURATED for share in one.saturated):
            return one
    return None


def _deafening(
    case: Case, training: Training, learned: Learning, deaf: SeenLayer
) -> Verdict | None:
    """Features so large that a layer gives out its highest or lowest for every row."""
    for tensor in inputs_of(training):
        words = _wrong_input(tensor, case.tuned(LARGE_INPUT))
        if words is None:
            continue
        told = _verdict(case, training, learned, tensor, words, "features")
        name = deaf.layer.name
        count = len(deaf.steps)
        text = (
            f"In {looks(count)}, {deaf.layer.activation or 'the activation'} of {name} "
            "was at its end for every row, and its gradients were exactly 0."
        )
        heard = Evidence(text=text, lane="gradient_norm", at=told.cause_at)
        return dataclasses.replace(
            told,
            severity="warning",
            headline=f"Features {words.split(' (')[0]}: {name} hears nothing of them",
            because="The scale is measured, and so is that no gradient passes there.",
            place={**told.place, "layer": name},
            evidence=(told.evidence[0], heard, *told.evidence[1:]),
        )
    return None


def _is_bad(training: Training, learned: Learning) -> bool:
    if learned.state != "lost":
        return learned.state in ("no", "slow") or _fell_back(learned)
    if any(field.nonfinite_count for b in training.batches for field in b.fields):
        # NaN went in: no scale would help.
        return False
    before = [loss for bad in training.bad_numbers for loss in bad.losses_before]
    extremes = [
        loss for e in training.epochs for loss in (e.lowest_loss, e.highest_loss)
    ]
    known = [abs(n) for n in (*before, *extremes) if n and not math.isnan(n)]
    return bool(known) and max(known) > GREW * min(known)


def _fell_back(learned: Learning) -> bool:
    """Thrown up, and then as good as one answer for every row, to the digit."""
    base = learned.baseline.loss if learned.baseline else None
    late = learned.losses[-LEAST_EPOCHS_BACK:]
    if base is None or learned.state == "yes" or len(late) < LEAST_EPOCHS_BACK:
        return False
    if max(learned.losses) < THROWN_UP * base:
        return False
    return all(abs(loss - base) <= FELL_BACK * base for loss in late)


def _constant(training: Training) -> Tensor | None:
    """An input that is the same in every row, if all of them are."""
    inputs = inputs_of(training)
    if not inputs or any(tensor.rows < LEAST_ROWS for tensor in inputs):
        return None
    same = [tensor for tensor in inputs if tensor.minimum == tensor.maximum]
    return same[0] if len(same) == len(inputs) else None


def _scales_itself(training: Training) -> bool:
    first = training.started.layers[:_FIRST_LAYERS]
    return any(layer.kind in _SCALING for layer in first)


def _wrong_input(tensor: Tensor, large: float) -> str | None:
    """What is wrong with the scale of an input, as the end of a sentence."""
    scale = max(abs(tensor.mean), tensor.std)
    widest, narrowest = tensor.highest_feature_std, tensor.lowest_feature_std
    if scale >= large:
        return (
            f"run from {tensor.minimum:.4g} to {tensor.maximum:.4g} "
            f"(mean {tensor.mean:.3g}, spread {tensor.std:.3g})"
        )
    unequal = widest / narrowest if widest and narrowest else 1.0
    if widest and widest >= LARGE_FEATURE and unequal >= UNEQUAL:
        return f"differ in spread {unequal:,.0f}-fold ({narrowest:.2g} to {widest:.2g})"
    if 0 < tensor.std < TINY_INPUT and tensor.magnitude < LARGE_FEATURE * TINY_INPUT:
        return f"are all within {tensor.minimum:.2g} and {tensor.maximum:.2g}"
    return None


def _large_target(target: Tensor, learned: Learning, large: float) -> str | None:
    if max(abs(target.mean), target.std) < large or learned.state == "yes":
        return None
    return (
        f"run from {short(target.minimum)} to {short(target.maximum)} "
        f"(mean {short(target.mean)}, spread {short(target.std)})"
    )


def _not_probabilities(head: Head | None, target: Tensor | None) -> str | None:
    """Measurements where a loss for probabilities needs 0 to 1."""
    if head is None or target is None or head.kind not in ("binary", "categorical"):
        return None
    if target.minimum >= -BEYOND and target.maximum <= 1 + BEYOND:
        return None
    if target.counts is not None and len(target.counts) <= MOST_CLASSES:
        # Classes with a wrong coding: label_problem speaks of them.
        return None
    return (
        f"run from {short(target.minimum)} to {short(target.maximum)}, but "
        f"{head.loss_name} needs 0 to 1"
    )


def _verdict(
    case: Case,
    training: Training,
    learned: Learning,
    tensor: Tensor,
    words: str,
    detail: str,
) -> Verdict:
    name = "Targets" if detail == "targets" else "Features"
    evidence = [
        Evidence(
            text=f"{name} ({tensor.name}) {words}, in {tensor.batches} batches of "
            f"shape {tensor.shape}.",
            at=training.at(training.batches[0]),
        )
    ]
    evidence += _outcome(learned)
    useless = learned.state in ("no", "lost")
    return Verdict(
        id=RULE.id,
        detail=detail,
        severity="critical" if useless else "warning",
        confidence=_confidence(training, tensor),
        headline=f"{name} {words.split(' (')[0]}: too far off scale to learn",
        chip="Unscaled data",
        because="The scale is measured; that it is the reason follows from a run that "
        "did not learn.",
        cause_at=training.at(training.batches[0]),
        stopped_at=case.stopped_at,
        place={"field": tensor.name},
        evidence=tuple(evidence),
        fixes=_fixes(tensor, detail),
        explains=_EXPLAINS,
    )


def _nothing_to_learn_from(
    case: Case, training: Training, learned: Learning, tensor: Tensor
) -> Verdict:
    at = training.at(training.batches[0])
    text = (
        f"Every number of {tensor.name} was {tensor.minimum:g}, in {tensor.batches} "
        f"batches of shape {tensor.shape}."
    )
    return Verdict(
        id=RULE.id,
        detail="constant",
        severity="critical",
        confidence="likely",
        headline=f"Every feature is {tensor.minimum:g} in every row: there is nothing "
        "to learn from",
        chip="Constant input",
        because="That is what went into the model, and nothing was learned.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"field": tensor.name},
        evidence=(Evidence(text=text, at=at), *_outcome(learned)),
        fixes=(
            Fix(
                title="Look at the features before they go in",
                why="Something on their way made them all the same: whole-number "
                "division (// cuts to 0), a cast, scaling twice, a column that is "
                "empty.",
                code="print(x.dtype, x.min(), x.max(), x.std())",
            ),
        ),
        explains=(*_EXPLAINS, "no_gradient", "weights_not_updated", "overfitting"),
    )


def _confidence(training: Training, tensor: Tensor) -> Confidence:
    rate = training.number("optimizer.learning_rate")
    if rate is not None and rate > USUAL_RATE:
        return "possible"
    return "likely" if tensor.rows >= _FIRST_LAYERS else "possible"


def _outcome(learned: Learning) -> list[Evidence]:
    if learned.state == "lost":
        return [Evidence(text="The loss became NaN or infinite.", lane="loss")]
    base, end = learned.baseline, learned.end
    found = []
    if base and base.loss is not None and end is not None and math.isfinite(end):
        text = f"The loss ended at {short(end)}; {base.words} gives {short(base.loss)}."
        found.append(Evidence(text=text, lane="loss"))
    if base and base.accuracy is not None and learned.accuracies:
        text = (
            f"Accuracy ended at {learned.accuracies[-1]:.1%}; always naming the "
            f"largest class reaches {base.accuracy:.1%}."
        )
        found.append(Evidence(text=text))
    return found


def _fixes(tensor: Tensor, detail: str) -> tuple[Fix, ...]:
    if detail == "targets" and tensor.minimum >= 0 and tensor.maximum == 255:
        return (_pixels("y"),)
    if detail == "targets":
        return (
            Fix(
                title="Scale the targets, and scale predictions back",
                why=f"Now their mean is {short(tensor.mean)} and their spread "
                f"{short(tensor.std)}.",
                code=f"y = (y - {tensor.mean:.6g}) / {tensor.std or 1.0:.6g}",
            ),
        )
    if tensor.minimum >= 0 and 200 <= tensor.maximum <= 255:
        return (_pixels("x"),)
    return (
        Fix(
            title="Scale the features inside the model",
            why="The layer learns mean and spread of each feature and is saved along.",
            code="scale = keras.layers.Normalization()\n"
            "scale.adapt(x_train)  # then make it the first layer",
        ),
    )


def _pixels(name: str) -> Fix:
    return Fix(
        title="Divide the pixels by 255",
        why="They run from 0 to 255; a model is made for numbers around 1. What it is "
        "to predict later needs the same.",
        code=f'{name} = {name}.astype("float32") / 255',
    )


RULE = Rule(id="unscaled_data", judge=judge, options=(LARGE_INPUT, LARGE_TARGET))
