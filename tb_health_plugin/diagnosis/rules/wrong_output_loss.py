"""The last layer, the loss and the targets do not belong together.

**What it means.** Every loss expects one kind of output. A softmax over a single unit
gives 1 for every row. `categorical_crossentropy` on one unit is 0 for every row. A
cross-entropy that expects probabilities reads raw scores as if they were some. A
sigmoid never reaches a target of 40, a ReLU never one of -1. A loss of one's own with
the wrong sign is lowest where the predictions are worst. The loss may fall all the
same, so nothing looks broken but the result.

**How we know.** Activation and units of the last layer, name and settings of the loss,
and the range of the targets in the batches are exact. Where such a pair may still
learn, we speak up only if loss and accuracy show that it did not.

**What it is mistaken for.** Dead units, a learning rate that is too low, bad data.

**What to do.** Pairs that belong together:

| targets | last layer | loss |
| --- | --- | --- |
| 0 or 1 | 1 unit, sigmoid | `binary_crossentropy` |
| class numbers 0 to n-1 | n units, softmax | `sparse_categorical_crossentropy` |
| one-hot rows | n units, softmax | `categorical_crossentropy` |
| several labels per row | n units, sigmoid | `binary_crossentropy` |
| measurements | 1 unit each, no activation | `mse` or `mae` |

Without an activation, the first four need `from_logits=True` in the loss.
"""

import math
from statistics import NormalDist

from tb_health_plugin.diagnosis import bottomless
from tb_health_plugin.diagnosis.batches import Tensor, target_of
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import (
    CROSS_ENTROPIES,
    REGRESSIONS,
    Head,
    has_penalty,
    head_of,
)
from tb_health_plugin.diagnosis.learning import (
    BETTER,
    accuracy_name,
    is_long_enough,
    learning_of,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Severity,
    Verdict,
)

# Activations whose outputs are no probabilities.
_RAW = (
    "linear",
    "relu",
    "tanh",
    "leaky_relu",
    "elu",
    "selu",
    "gelu",
    "silu",
    "swish",
)
# What an activation can reach.
_RANGES = {
    "sigmoid": (0.0, 1.0),
    "hard_sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, math.inf),
    "softplus": (0.0, math.inf),
}
# Fewer targets out of reach are outliers that a bounded output may cut on purpose.
LEAST_OUT_OF_REACH = 0.1
# With so many of them most of what is to be learned cannot be said.
MOSTLY_OUT_OF_REACH = 0.4
# Targets just beyond an end come from rounding or noise: in their own spread.
BEYOND = 0.1
# A loss this far below the trivial one is good, whatever it was made of.
GOOD = 0.3
# What Keras says of probabilities where it expects scores.
_NOT_LOGITS = r"from_logits=True.{0,120}does not represent logits"
# Scores that are still near 0 lie in 0 to 1, too; none of a softmax reaches this then.
SURE = 0.5
# More labels than one per row, on average.
SEVERAL_LABELS = 1.05

_EXPLAINS = (
    "not_learning",
    "no_gradient",
    "vanishing_gradients",
    "lr_too_low",
    "lr_too_high",
    "dead_relu",
    "nan_op",
    "exploding_gradients",
    "over_regularised",
    "undertrained",
    "weights_not_updated",
    "unscaled_data",
)


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        head = head_of(training)
        found = _judge(case, training, head) if head else None
        if found:
            return found
    return None


def _judge(case: Case, training: Training, head: Head) -> Verdict | None:
    target = target_of(training)
    found = (
        _always_one(case, training, head)
        or _one_class(case, training, head)
        or _activated_twice(case, training, head)
        or _no_bottom(case, training, head)
    )
    if found or target is None:
        return found or _raw_scores(case, training, head, None)
    return (
        _class_numbers(case, training, head, target)
        or _raw_scores(case, training, head, target)
        or _out_of_reach(case, training, head, target)
        or _several_labels(case, training, head, target)
    )


def _always_one(case: Case, training: Training, head: Head) -> Verdict | None:
    """A softmax over one unit."""
    if head.activation != "softmax" or head.units != 1 or head.layer.kind == "Softmax":
        # The layer called Softmax may run over another axis.
        return None
    same = _same_accuracy(training)
    if not head.is_certain and same is None:
        return None
    layer = head.layer.name
    evidence = [
        Evidence(
            text=f"The last layer ({layer}) has 1 unit and a softmax: what it gives "
            "out is exactly 1 for every row.",
        )
    ]
    if same:
        evidence.append(same)
    two = (
        Fix(
            title="Use a sigmoid for one unit",
            why="A softmax shares 1 among its units; a single unit gets all of it.",
            code='keras.layers.Dense(1, activation="sigmoid")',
        ),
        Fix(
            title="Or two units, with class numbers as labels",
            why="Then the softmax has something to share.",
            code='keras.layers.Dense(2, activation="softmax")\n'
            'model.compile(..., loss="sparse_categorical_crossentropy")',
        ),
    )
    return _verdict(
        case,
        training,
        head,
        detail="softmax_of_one",
        headline="A softmax over one unit always gives 1, so nothing can be learned",
        because="It follows from the last layer alone.",
        evidence=tuple(evidence),
        fixes=two,
        severity="critical",
    )


def _one_class(case: Case, training: Training, head: Head) -> Verdict | None:
    """A loss for several classes on one unit."""
    if head.kind not in ("categorical", "sparse") or head.units != 1:
        return None
    if not head.is_certain:
        return None
    evidence = [
        Evidence(
            text=f"{head.loss_name} shares 1 among the units of the last layer "
            f"({head.layer.name}); it has only one, so the loss is 0 whatever the "
            "model does."
        )
    ]
    losses = finite(training.metric("loss"))
    if losses:
        text = (
            f"The loss was {losses[0]:.3g} in epoch 1 and {losses[-1]:.3g} at the end."
        )
        evidence.append(Evidence(text=text, lane="loss"))
    same = _same_accuracy(training)
    if same:
        evidence.append(same)
    return _verdict(
        case,
        training,
        head,
        detail="one_unit_for_classes",
        headline=f"{head.loss_name} on one unit is always 0: nothing can be learned",
        because="It follows from the loss and the last layer.",
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Use binary_crossentropy for one unit",
                why="It is made for yes and no in one number, after a sigmoid.",
                code='model.compile(..., loss="binary_crossentropy")',
            ),
        ),
        severity="critical",
    )


def _no_bottom(case: Case, training: Training, head: Head) -> Verdict | None:
    """A loss that is better the worse the model is."""
    low = None if head.kind is not None else bottomless.lowest(training)
    if low is None:
        return None
    return _verdict(
        case,
        training,
        head,
        detail="no_bottom",
        headline=f"The loss fell without end, to {low:.2g}: it has no lowest value",
        because="It fell faster and faster below zero, so training drives the model "
        "away from the targets.",
        evidence=(
            Evidence(text=f"It had fallen to {low:.3g}, and fell on.", lane="loss"),
        ),
        fixes=(
            Fix(
                title="Turn its sign around, or take a loss with a lowest value",
                why="An optimizer makes the loss as small as it can: it must be "
                "smallest where the predictions are right.",
            ),
        ),
        severity="critical",
        confidence="likely",
    )


def _class_numbers(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Class numbers compared with probabilities, number by number."""
    if head.kind not in REGRESSIONS or head.activation != "softmax":
        return None
    if (head.units or 0) < 2 or target.width != 1 or not target.whole_numbers:
        return None
    units = head.units
    text = (
        f"Labels are whole numbers from {target.minimum:g} to {target.maximum:g}, one "
        f"per row; the softmax ({head.layer.name}) gives out {units} probabilities, "
        f"and {head.loss_name} subtracts one from the other."
    )
    return _verdict(
        case,
        training,
        head,
        detail="class_numbers",
        headline=f"{head.loss_name} compares class numbers with {units} probabilities",
        because="Targets, last layer and loss are exact and do not fit.",
        evidence=(Evidence(text=text), *_outcome(training)),
        fixes=(
            Fix(
                title="Use the loss for class numbers",
                why=f"It takes the probability of the right one of {units} classes.",
                code='model.compile(..., loss="sparse_categorical_crossentropy")',
            ),
        ),
        severity="critical",
    )


def _activated_twice(case: Case, training: Training, head: Head) -> Verdict | None:
    """Probabilities read as raw scores: the loss takes the softmax of a softmax.

    Keras sees through a softmax that is the very last operation: it warns, and
    takes the scores from before. It cannot if anything comes after, as in a layer of
    the program's own; then the loss has a floor.
    """
    if head.kind not in CROSS_ENTROPIES or not head.from_logits:
        return None
    if head.activation or head.layer.kind == "Softmax" or case.said(_NOT_LOGITS):
        return None
    low, high = _output_range(training, head)
    if low is None or high is None or low < 0 or not SURE < high <= 1:
        return None
    if not is_long_enough(training):
        return None
    floor = _floor(head)
    losses = finite(training.metric("loss"))
    if floor is None or not losses or min(losses) < floor or has_penalty(training):
        return None
    name = "sigmoid" if head.kind == "binary" else "softmax"
    return _verdict(
        case,
        training,
        head,
        detail="probabilities_as_scores",
        headline=f"{head.loss_name} takes the {name} of outputs that already are "
        "probabilities",
        because="All outputs that were looked at lay in 0 to 1, and the loss never "
        "fell below what such outputs can reach.",
        evidence=(
            Evidence(
                text=f"The outputs of {head.layer.name} ran from {low:.3g} to "
                f"{high:.3g}; the loss has from_logits=True."
            ),
            Evidence(
                text=f"So the loss cannot fall below {floor:.3g}, and gradients are "
                f"small. It was never below {min(losses):.3g}.",
                lane="loss",
            ),
            *_outcome(training),
        ),
        fixes=(
            Fix(
                title="Tell the loss that it gets probabilities",
                why=f"The {name} is in the model already.",
                code="from_logits=False",
            ),
            Fix(
                title=f"Or take the {name} out of {head.layer.name}",
                why="Scores are safer in low precision. Apply it after predict().",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _floor(head: Head) -> float | None:
    """The lowest loss that outputs of 0 to 1 can reach when read as scores."""
    if head.kind == "binary":
        # All labels 1, at an output of 1.
        return math.log1p(math.exp(-1.0))
    return math.log1p((head.units - 1) / math.e) if head.units else None


def _raw_scores(
    case: Case, training: Training, head: Head, target: Tensor | None
) -> Verdict | None:
    """Raw scores read as probabilities."""
    if head.kind not in CROSS_ENTROPIES or head.activation not in _RAW:
        return None
    if head.from_logits is not False or not head.is_certain:
        return None
    low, high = _output_range(training, head)
    outside = low is not None and high is not None and (low < 0 or high > 1)
    learned = learning_of(training)
    end, base = learned.end, learned.baseline
    trivial = base.loss if base is not None else None
    share = end / trivial if end is not None and trivial else None
    if share is not None and share < (GOOD if outside else BETTER):
        # Against all odds its outputs have become probabilities, or nearly so.
        return None
    if not is_long_enough(training) and not outside:
        return None
    name = head.activation
    evidence = [
        Evidence(
            text=f"The last layer ({head.layer.name}) has "
            + ("no activation" if name == "linear" else f"the activation {name}")
            + f"; {head.loss_name} with from_logits=False expects probabilities.",
        )
    ]
    if outside:
        text = f"Its outputs ran from {low:.3g} to {high:.3g}; outside of 0 to 1 the "
        evidence.append(Evidence(text=text + "loss has no slope to follow."))
    if base and base.loss is not None and end is not None:
        evidence.append(
            Evidence(
                text=f"The loss ended at {end:.4g}; {base.words} gives "
                f"{base.loss:.4g} without any training.",
                lane="loss",
            )
        )
    evidence += _outcome(training)
    return _verdict(
        case,
        training,
        head,
        detail="scores_as_probabilities",
        headline=f"{head.loss_name} reads raw scores as probabilities",
        because=(
            "Loss and last layer are exact"
            + (", and outputs outside of 0 to 1 were seen." if outside else ".")
        ),
        evidence=tuple(evidence),
        fixes=_fixes_for_scores(head, target),
        severity="warning",
        confidence="proven" if outside else "likely",
    )


def _fixes_for_scores(head: Head, target: Tensor | None) -> tuple[Fix, ...]:
    activation = "sigmoid" if head.kind == "binary" else "softmax"
    if head.kind == "categorical" and target is not None and target.is_multi_hot:
        activation = "sigmoid"
    units = head.units or 1
    fixes = [
        Fix(
            title=f"Give the last layer a {activation}",
            why=f"Then its {units} outputs are probabilities.",
            code=f'keras.layers.Dense({units}, activation="{activation}")',
        )
    ]
    loss = {
        "binary": "BinaryCrossentropy",
        "sparse": "SparseCategoricalCrossentropy",
        "categorical": "CategoricalCrossentropy",
    }.get(head.kind or "")
    if head.activation == "linear" and loss:
        fixes.append(
            Fix(
                title="Or tell the loss that it gets scores",
                why="Same result, a little safer in low precision.",
                code=f"loss=keras.losses.{loss}(from_logits=True)",
            )
        )
    return tuple(fixes)


def _out_of_reach(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Targets that the last activation can never give out."""
    if head.kind not in REGRESSIONS or head.activation not in _RANGES:
        return None
    if not head.is_certain or head.layer.settings.get("max_value"):
        return None
    low, high = _RANGES[head.activation]
    share = _share_outside(target, low, high)
    if share < LEAST_OUT_OF_REACH:
        return None
    reach = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more"
    text = (
        f"Targets run from {target.minimum:.4g} to {target.maximum:.4g} (mean "
        f"{target.mean:.3g}); the {head.activation} of the last layer "
        f"({head.layer.name}) gives out {reach}. About {share:.0%} are out of reach."
    )
    fixes = [
        Fix(
            title="Take the activation off the last layer",
            why="Measurements need outputs without bounds.",
            code=f"keras.layers.Dense({head.units or 1})",
        )
    ]
    if math.isfinite(high):
        fixes.append(
            Fix(
                title="Or scale the targets into its range",
                why=f"Then {head.activation} can reach all of them; scale predictions "
                "back afterwards.",
                code=f"y = (y - {target.minimum:.6g}) / "
                f"{target.maximum - target.minimum:.6g}"
                + (" * 2 - 1" if low < 0 else ""),
            )
        )
    return _verdict(
        case,
        training,
        head,
        detail="out_of_reach",
        headline=f"A {head.activation} cannot reach {share:.0%} of the targets "
        f"({target.minimum:.3g} to {target.maximum:.3g})",
        because="What an activation can give out is fixed; the targets were looked at.",
        evidence=(Evidence(text=text), *_outcome(training)),
        fixes=tuple(fixes),
        severity="critical" if share >= MOSTLY_OUT_OF_REACH else "warning",
    )


def _share_outside(target: Tensor, low: float, high: float) -> float:
    """About how many of the targets lie clearly outside."""
    margin = BEYOND * target.std
    if target.minimum >= low - margin and target.maximum <= high + margin:
        return 0.0
    if target.counts:
        total = sum(target.counts.values())
        outside = sum(
            count
            for value, count in target.counts.items()
            if not low - margin <= value <= high + margin
        )
        return outside / total
    if target.std <= 0:
        return 1.0
    # Only mean and spread are known: as many as a bell curve has there.
    bell = NormalDist(target.mean, target.std)
    above = 1 - bell.cdf(high) if math.isfinite(high) else 0.0
    below = bell.cdf(low) if target.minimum < low - margin else 0.0
    return below + (above if target.maximum > high + margin else 0.0)


def _several_labels(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """A softmax chooses one, the rows have several."""
    if head.kind != "categorical" or head.activation != "softmax":
        return None
    if not target.is_multi_hot or target.ones_per_row < SEVERAL_LABELS:
        return None
    bad = learning_of(training).is_bad
    text = (
        f"Rows have {target.ones_per_row:.2g} labels on average; a softmax "
        f"({head.layer.name}) shares 1 among {head.units} classes."
    )
    return _verdict(
        case,
        training,
        head,
        detail="several_labels",
        headline="A softmax chooses one class, but rows have several labels",
        because="Targets and last layer are exact; some train this way on purpose.",
        evidence=(Evidence(text=text), *_outcome(training)),
        fixes=(
            Fix(
                title="Decide about every label by itself",
                why="Then several can be likely at once.",
                code=f'keras.layers.Dense({head.units}, activation="sigmoid")\n'
                'model.compile(..., loss="binary_crossentropy")',
            ),
        ),
        severity="warning" if bad else "info",
        confidence="likely",
    )


def _same_accuracy(training: Training) -> Evidence | None:
    name = accuracy_name(training)
    values = training.metric(name) if name else []
    if len(values) < 2 or len(set(values)) != 1:
        return None
    text = f"{name} was the same in all {len(values)} epochs: {values[0]:.4f}."
    return Evidence(text=text, at=training.at(training.epochs[-1]))


def _output_range(training: Training, head: Head) -> tuple[float | None, float | None]:
    names = [layer.name for layer in training.started.layers]
    place = names.index(head.layer.name) if head.layer.name in names else len(names)
    lows = [i.output_minimums[place : place + 1] for i in training.inspections]
    highs = [i.output_maximums[place : place + 1] for i in training.inspections]
    low = min(finite([value for one in lows for value in one]), default=None)
    high = max(finite([value for one in highs for value in one]), default=None)
    return low, high


def _outcome(training: Training) -> list[Evidence]:
    name = accuracy_name(training)
    values = finite(training.metric(name)) if name else []
    if not values:
        return []
    text = f"{name} ended at {values[-1]:.3g} after {len(values)} epochs."
    return [Evidence(text=text, strong=False)]


def _verdict(
    case: Case,
    training: Training,
    head: Head,
    *,
    detail: str,
    headline: str,
    because: str,
    evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
    severity: Severity,
    confidence: Confidence = "proven",
) -> Verdict:
    return Verdict(
        id=RULE.id,
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        chip="Wrong loss",
        because=because,
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        place={"layer": head.layer.name},
        evidence=evidence,
        fixes=fixes,
        explains=_EXPLAINS,
    )


RULE = Rule(id="wrong_output_loss", judge=judge)
