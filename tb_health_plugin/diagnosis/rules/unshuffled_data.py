"""The data is sorted and never shuffled.

**What it means.** The model sees one class, or one range of targets, for many steps,
then the next. Each time it learns the new one and forgets the others. Training looks
good inside a stretch; validation is about as good as the class that came last. If the
last part of sorted data is kept for validation, that part holds classes that training
never saw.

**How we know.** The labels of batches from all over the epoch are compared: batches
drawn at random are alike, these differ many times more than chance allows and hold
fewer classes. And it harms: validation is far behind training, or the loss jumps at the
same places of every epoch. Sorted batches that do no harm are not reported.

**What it is mistaken for.** Overfitting, a learning rate that is too high (the loss
jumps), a class imbalance.

**What to do.** Shuffle the rows before they are batched, anew in every epoch; shuffle
before a part is kept for validation.
"""

import itertools
import statistics

from tb_health_plugin.diagnosis.baseline import LEAST_ROWS
from tb_health_plugin.diagnosis.batch_order import (
    SORTED,
    Order,
    correlation,
    is_sorted,
    order_of,
)
from tb_health_plugin.diagnosis.batches import Tensor, target_of
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, Head, head_of
from tb_health_plugin.diagnosis.learning import (
    accuracy_name,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.smaller_batches import batch_rows
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Validation accuracy behind training accuracy by this much.
BEHIND = 0.1
# Validation loss beside the training loss, for targets that are no classes.
MUCH_WORSE = 3.0
# The loss of two epochs has the same shape, with peaks this high beside the median.
SAME_SHAPE = 0.5
PEAK = 3.0

_EXPLAINS = (
    "overfitting",
    "lr_too_high",
    "not_learning",
    "exploding_gradients",
    "undertrained",
    "label_problem",
    # Units that are silent for all rows of a batch may only be silent for its class.
    "dead_relu",
)


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None:
        return None
    head, target = head_of(training), target_of(training)
    if head is None or target is None or target.rows < LEAST_ROWS:
        return None
    kept = _kept_for_validation(case, training, head, target)
    if kept:
        return kept
    is_classes = head.kind in CROSS_ENTROPIES
    order = order_of(training, target)
    if order is None or not is_sorted(order, is_classes):
        return None
    harm = _harm(training) if is_classes else _harm_to_regression(training)
    if not harm:
        return None
    return _verdict(case, training, order, harm)


def _harm(training: Training) -> list[Evidence]:
    """Signs that the order of the rows cost something."""
    found = []
    name, val_name = accuracy_name(training), accuracy_name(training, "val_")
    if name and val_name:
        train, val = finite(training.metric(name)), finite(training.metric(val_name))
        if train and val and train[-1] - val[-1] >= BEHIND:
            text = (
                f"{name} ended at {train[-1]:.1%}, {val_name} at {val[-1]:.1%}: what "
                "was learned inside an epoch was gone at its end."
            )
            at = training.at(training.epochs[-1], training.epochs[-1].epoch)
            found.append(Evidence(text=text, at=at))
    peaks = _same_peaks(training)
    if peaks:
        found.append(peaks)
    if not found and learning_of(training).is_bad:
        text = "The run ended no better than a model that ignores its inputs."
        found.append(Evidence(text=text, lane="loss"))
    return found


def _harm_to_regression(training: Training) -> list[Evidence]:
    """Series are in order on purpose: both signs are needed."""
    losses = finite(training.metric("loss"))
    unseen = finite(training.metric("val_loss"))
    peaks = _same_peaks(training)
    if not peaks or not losses or not unseen or unseen[-1] < MUCH_WORSE * losses[-1]:
        return []
    text = f"val_loss ended at {unseen[-1]:.4g}, loss at {losses[-1]:.4g}."
    return [Evidence(text=text, lane="loss"), peaks]


def _same_peaks(training: Training) -> Evidence | None:
    profiles = [e.loss_profile for e in training.epochs if len(e.loss_profile) >= 8]
    alike, heights = [], []
    for a, b in itertools.pairwise(profiles[1:]):
        if len(a) == len(b) and len(finite([*a, *b])) == len(a) + len(b):
            alike.append(correlation(a, b))
            heights.append(max(b) / max(statistics.median(b), 1e-9))
    if not alike or statistics.median(alike) < SAME_SHAPE:
        return None
    height = statistics.median(heights)
    if height < PEAK:
        return None
    text = (
        f"The loss peaks at the same places of every epoch, {height:.0f} times as high "
        "as between them."
    )
    return Evidence(text=text, lane="loss")


def _kept_for_validation(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Sorted data whose last classes went to validation as a whole."""
    share = training.number("validation_split")
    name, val_name = accuracy_name(training), accuracy_name(training, "val_")
    if not share or not name or not val_name:
        return None
    units = head.units or 0
    train, val = finite(training.metric(name)), finite(training.metric(val_name))
    if head.kind == "binary" and units == 1:
        units = 2
    if not train or not val or units < 2 or head.kind not in CROSS_ENTROPIES:
        return None
    # A model that learned something is worse than guessing only on other classes.
    chance = 1 / units
    if train[-1] < chance + (1 - chance) / 2 or max(val[-3:]) > chance / 2:
        return None
    classes = len(target.counts) if target.counts and target.width == 1 else units
    missing = (
        Evidence(
            text=f"{target.rows:,} training labels hold {classes} classes; the last "
            f"layer has units for {units}."
        ),
    )
    return Verdict(
        id=RULE.id,
        detail="validation_split",
        severity="warning",
        confidence="likely",
        headline="The rows kept for validation hold other classes than the rest "
        f"({val_name} {val[-1]:.1%})",
        chip="Sorted data",
        because="validation_split takes the last rows, before any shuffling, and "
        "validation is far worse than guessing.",
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        place={"field": target.name},
        evidence=(
            *(missing if classes < units else ()),
            Evidence(
                text=f"{name} ended at {train[-1]:.1%}, {val_name} at {val[-1]:.1%}; "
                f"guessing among {units} classes gives {chance:.1%}."
            ),
        ),
        fixes=(
            Fix(
                title="Shuffle before the split",
                why=f"validation_split={share:g} takes the last rows as they are.",
                code="order = np.random.permutation(len(x))\nx, y = x[order], y[order]",
            ),
        ),
        explains=_EXPLAINS,
    )


def _verdict(
    case: Case, training: Training, order: Order, harm: list[Evidence]
) -> Verdict:
    if order.classes_seen is not None and order.classes_expected is not None:
        what = (
            f"Batches hold {order.classes_seen:.0f} "
            f"{'class' if order.classes_seen < 1.5 else 'classes'} where chance gives "
            f"{order.classes_expected:.1f}"
        )
    else:
        what = f"Batches differ {order.spread:.0f} times more than chance allows"
    at = training.at(training.batches[0])
    where = (
        f" The place in the epoch tells the mean label (rank correlation "
        f"{order.sorted_by_place:.2f})."
        if order.sorted_by_place >= SORTED
        else ""
    )
    return Verdict(
        id=RULE.id,
        detail="sorted",
        severity="warning",
        confidence="likely",
        headline=f"The data is not shuffled: {what[0].lower()}{what[1:]}",
        chip="Not shuffled",
        because=f"Labels of {order.batches} batches differ far more than chance "
        "allows, and the results show the harm.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"field": "y"},
        evidence=(
            Evidence(text=f"{what} ({order.batches} batches).{where}", at=at),
            *harm,
        ),
        fixes=_fixes(training, batch_rows(case.attempt)),
        explains=_EXPLAINS,
    )


def _fixes(training: Training, batch: int | None) -> tuple[Fix, ...]:
    kind = training.setting("data.kind")
    rows = training.number("data.examples")
    if rows is None:
        batches = training.number("data.batches")
        size = training.number("batch_size")
        rows = batches * size if batches and size else 10_000
    if kind == "arrays" or training.setting("shuffle") == "False":
        return (
            Fix(
                title="Let fit shuffle the rows",
                why="It was told not to, or the rows come in order.",
                code="model.fit(..., shuffle=True)",
            ),
        )
    if kind in ("PyDataset", "generator"):
        return (
            Fix(
                title="Draw the rows in a new order in every epoch",
                why=f"A {kind} is used as it comes; fit does not shuffle it.",
                code="order = np.random.permutation(len(x))  # before each epoch",
            ),
        )
    return (
        Fix(
            title="Shuffle before batching",
            why="The buffer should hold all rows, or shuffle file names first. It "
            "costs the memory of its rows.",
            code=f"dataset = dataset.shuffle({rows:.0f}).batch({batch or '...'})",
        ),
    )


RULE = Rule(id="unshuffled_data", judge=judge)
