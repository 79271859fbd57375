"""The labels are not what the loss can work with.

**What it means.** A loss reads labels in one coding only. `binary_crossentropy` needs
numbers from 0 to 1, `sparse_categorical_crossentropy` whole numbers from 0 to the
number of output units minus 1. With others the loss goes below zero, the labels are cut
to whole numbers without a word, or the step fails. Labels that are all the same, or of
one class but for a few, leave nothing to learn or make the accuracy worthless.

**How we know.** The labels of single batches are looked at while they go into the
training, and compared with the loss and the last layer. That the labels do not fit is
an exact comparison of numbers. That nothing was learned from rare classes is seen when
loss and accuracy equal those of a model that ignores its inputs.

**What it is mistaken for.** Overfitting (training loss near 0, validation loss high),
a wrong last layer, a learning rate that is too high.

**What to do.** Map the labels to the coding that the loss expects, before they are
batched, for training and validation alike. Do not scale labels along with features.
"""

import re

from tb_health_plugin.diagnosis.batches import Tensor, target_of
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, Head, head_of
from tb_health_plugin.diagnosis.learning import learning_of
from tb_health_plugin.diagnosis.rare_labels import has_other_labels, names_one_class
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Severity,
    Verdict,
)

# Resizing and label smoothing lead a little beyond 0 and 1; a wrong coding far.
BEYOND = 0.05
# As many different numbers are still classes; more are measurements.
MOST_CLASSES = 32
# Sorted data begins with one class too: batches from all over an epoch are needed.
CONSTANT_BATCHES = 5
CONSTANT_SPREAD = 0.5
# Below this share, always naming the largest class is no accuracy to be proud of.
RARE_SHARE = 0.9
# Accuracy this near to the share of the largest class names no other.
SAME_ACCURACY = 0.005

_EXPLAINS = (
    "not_learning",
    "overfitting",
    "code_error",
    "input_error",
    "nan_op",
    "lr_too_high",
    "exploding_gradients",
    "wrong_output_loss",
    "undertrained",
    "no_gradient",
    "vanishing_gradients",
)
# What TensorFlow says when a label has no unit.
_NO_UNIT = re.compile(
    r"label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
)


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        found = _judge(case, training)
        if found:
            return found
    return None


def _judge(case: Case, training: Training) -> Verdict | None:
    head, target = head_of(training), target_of(training)
    said = _refused(case, training)
    if said:
        return said
    if head is None or target is None or head.kind not in CROSS_ENTROPIES:
        return None
    if head.kind == "sparse":
        found = _fractions(case, training, head, target) or _no_unit(
            case, training, head, target
        )
    else:
        found = _beyond_one(case, training, head, target)
    return (
        found
        or _constant(case, training, head, target)
        or _rare(case, training, head, target)
    )


def _refused(case: Case, training: Training) -> Verdict | None:
    """The step failed, and said itself that a label was out of range."""
    ended = training.ended
    match = _NO_UNIT.search((ended.message or "") if ended else "")
    if ended is None or match is None:
        return None
    label, units = match.groups()
    text = f"The step failed: label {label} is outside of 0 to {int(units) - 1}."
    return _verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Label {label} has no output: the last layer has {units} units",
        chip="Wrong labels",
        because="The operation that failed said so itself.",
        evidence=(Evidence(text=text, at=training.at(ended)),),
        fixes=_renumber(int(label), int(units)),
        at=training.at(ended),
    )


def _fractions(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    if target.whole_numbers is not False:
        return None
    low, high = int(target.minimum), int(target.maximum)
    left = (
        f"all of them become {low}" if low == high else f"they become {low} to {high}"
    )
    text = (
        f"Labels run from {target.minimum:.4g} to {target.maximum:.4g} and are not "
        f"whole; {head.loss_name} cuts them to whole numbers, so {left}."
    )
    scaled = (
        f"{target.minimum:.3g} to {target.maximum:.3g}"
        if target.std
        else f"{target.minimum:.3g}"
    )
    return _verdict(
        case,
        training,
        detail="fractions",
        headline=f"Labels are fractions ({scaled}) where class numbers are needed",
        chip="Wrong labels",
        because="The labels of the batches and the loss do not fit, number by number.",
        evidence=(Evidence(text=text, at=_first(training)), *_outcome(training)),
        fixes=(
            Fix(
                title="Leave the labels as they are; scale only the inputs",
                why=f"{head.loss_name} takes whole numbers from 0 to "
                f"{(head.units or 1) - 1}.",
                code='y = y.astype("int64")  # before any division',
            ),
        ),
        severity="critical",
    )


def _no_unit(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    units = head.units
    if units is None or not head.is_certain or "ignore_class" in _given(head.loss):
        return None
    if target.minimum >= 0 and target.maximum < units:
        return None
    wrong = target.minimum if target.minimum < 0 else target.maximum
    text = (
        f"Labels run from {target.minimum:g} to {target.maximum:g}; the last layer "
        f"({head.layer.name}) has {units} units, for labels 0 to {units - 1}."
    )
    return _verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Label {wrong:g} has no output: the last layer has {units} units",
        chip="Wrong labels",
        because="Labels and units are exact numbers, and they do not fit.",
        evidence=(Evidence(text=text, at=_first(training)), *_outcome(training)),
        fixes=_renumber(int(wrong), units),
        severity="critical",
    )


def _beyond_one(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    if target.minimum >= -BEYOND and target.maximum <= 1 + BEYOND:
        return None
    counts = target.counts
    if counts is None or len(counts) > MOST_CLASSES:
        # Measurements or pixels, not labels: unscaled_data speaks of them.
        return None
    values = sorted(counts)
    shown = ", ".join(f"{value:g}" for value in values[:4])
    shown += ", …" if len(values) > 4 else ""
    text = (
        f"Labels are {shown}; {head.loss_name} needs numbers from 0 to 1 and has no "
        "lowest value with others."
    )
    losses = [loss for loss in training.metric("loss") if loss < 0]
    below = (
        (Evidence(text=f"The loss went below 0, to {min(losses):.4g}.", lane="loss"),)
        if losses
        else ()
    )
    return _verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Labels are {shown}, but {head.loss_name} needs 0 to 1",
        chip="Wrong labels",
        because="The labels of the batches and the loss do not fit, number by number.",
        evidence=(
            Evidence(text=text, at=_first(training)),
            *below,
            *_outcome(training),
        ),
        fixes=_to_zero_one(values, head),
        severity="critical",
    )


def _to_zero_one(values: list[float], head: Head) -> tuple[Fix, ...]:
    two = (
        Fix(
            title="Map the labels to 0 and 1",
            why=f"They are {values[0]:g} and {values[-1]:g}. Change training and "
            "validation labels alike.",
            code=f'y = (y == {values[-1]:g}).astype("float32")',
        ),
    )
    if len(values) == 2:
        return two
    if len(values) == 1:
        return (
            Fix(
                title="Map the labels to 0 and 1",
                why=f"Only {values[0]:g} was seen; look at how labels are made.",
            ),
        )
    return (
        Fix(
            title=f"Use one output unit per class, for the {len(values)} values seen",
            why=f"{head.loss_name} knows only yes and no. Labels must begin at 0.",
            code=f'keras.layers.Dense({len(values)}, activation="softmax")\n'
            'model.compile(..., loss="sparse_categorical_crossentropy")',
        ),
    )


def _constant(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    # A loop may train on one class at a time on purpose, as GANs do.
    if training.started.loop != "fit" or not target.counts:
        return None
    if len(target.counts) > 1 or target.std > 0 or not _is_spread(training):
        return None
    value = target.minimum
    if has_other_labels(training, value):
        return None
    text = (
        f"All labels of {target.batches} batches from all over an epoch "
        f"({target.rows:,} rows) are {value:g}."
    )
    return _verdict(
        case,
        training,
        detail="constant",
        headline=f"Every label is {value:g}: there is nothing to learn",
        chip="One label only",
        because=f"{target.rows:,} labels were looked at; not all of them.",
        evidence=(Evidence(text=text, at=_first(training)), *_outcome(training)),
        fixes=(
            Fix(
                title="Look at how the labels are made",
                why="A wrong column, a division, a cast to whole numbers or a filter "
                "can leave one value.",
                code="print(np.unique(y, return_counts=True))",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _is_spread(training: Training) -> bool:
    """Batches were looked at all over an epoch, not only at its beginning."""
    places = {seen.batch for seen in training.batches if seen.batch is not None}
    steps = training.started.planned_steps_per_epoch or 0
    for epoch in training.epochs:
        steps = max(steps, (epoch.last_step or 0) - (epoch.first_step or 0))
    if len(places) < CONSTANT_BATCHES or not steps:
        return False
    return max(places) - min(places) >= CONSTANT_SPREAD * steps


def _rare(case: Case, training: Training, head: Head, target: Tensor) -> Verdict | None:
    learned = learning_of(training)
    base = learned.baseline
    if base is None or base.accuracy is None:
        return None
    share = base.accuracy
    if share < RARE_SHARE or base.loss is None or not learned.accuracies:
        return None
    if learned.state == "slow" and not names_one_class(training, learned, base):
        return None
    if learned.state not in ("no", "slow"):
        return None
    margin = SAME_ACCURACY + (3 * base.chance_error if learned.state == "slow" else 0)
    if any(abs(a - share) > margin for a in learned.accuracies[-3:]):
        return None
    accuracy, loss = learned.accuracies[-1], learned.losses[-1]
    return _verdict(
        case,
        training,
        detail="imbalanced",
        headline=f"Accuracy {accuracy:.1%} is only the share of the largest class",
        chip="One class only",
        because="Accuracy and loss equal those of a model that ignores its inputs.",
        evidence=(
            Evidence(
                text=f"{share:.1%} of {target.rows:,} labels are one class; accuracy "
                f"was {accuracy:.1%} at the end."
            ),
            Evidence(
                text=f"The loss ended at {loss:.4g}; knowing the shares alone gives "
                f"{base.loss:.4g}.",
                lane="loss",
            ),
        ),
        fixes=(
            Fix(
                title="Judge by something that rare classes count in",
                why="Accuracy cannot fall below the largest class here.",
                code='metrics=[keras.metrics.AUC(curve="PR")]',
            ),
            Fix(
                title="Give rare classes more weight",
                why=f"Now a rare row counts {1 - share:.1%} beside {share:.1%}.",
                code=_weights(target, share) if head.kind == "binary" else None,
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _weights(target: Tensor, share: float) -> str:
    rare = 1 if target.mean < 0.5 else 0
    factor = share / max(1 - share, 1e-6)
    return f"model.fit(..., class_weight={{{1 - rare}: 1, {rare}: {factor:.0f}}})"


def _outcome(training: Training) -> tuple[Evidence, ...]:
    """What the run reported at its end."""
    if not training.epochs:
        return ()
    last = training.epochs[-1]
    shown = [
        f"{name} {value:.4g}"
        for name, value in last.metrics.items()
        if "loss" in name or "acc" in name
    ]
    if not shown:
        return ()
    text = f"The last epoch reported {', '.join(shown[:4])}."
    return (Evidence(text=text, strong=False, lane="loss", at=training.at(last)),)


def _renumber(label: int, units: int) -> tuple[Fix, ...]:
    number = Fix(
        title="Number the classes from 0",
        why=f"The last layer has {units} units, for labels 0 to {units - 1}.",
        code="classes, y = np.unique(y, return_inverse=True)",
    )
    if label < units:
        return (number,)
    more = Fix(
        title=f"Or give the last layer {label + 1} units",
        why=f"If class {label} is meant to be there and numbering begins at 0.",
        code=f"keras.layers.Dense({label + 1})",
    )
    return (number, more) if label == units else (more, number)


def _given(loss: str) -> str:
    """The settings of a loss that are not None."""
    return re.sub(r"\w+=None", "", loss)


def _first(training: Training) -> Moment:
    return training.at(training.batches[0]) if training.batches else Moment()


def _verdict(
    case: Case,
    training: Training,
    *,
    detail: str,
    headline: str,
    chip: str,
    because: str,
    evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
    severity: Severity = "critical",
    confidence: Confidence = "proven",
    at: Moment | None = None,
) -> Verdict:
    return Verdict(
        id=RULE.id,
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        chip=chip,
        because=because,
        cause_at=at or _first(training),
        stopped_at=case.stopped_at,
        place={"field": "y"},
        evidence=evidence,
        fixes=fixes,
        explains=_EXPLAINS,
    )


RULE = Rule(id="label_problem", judge=judge)
