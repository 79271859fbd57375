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
from collections.abc import Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.batches import (
    Tensor,
    rows_of,
    target_field,
    target_of,
)
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, Head, head_of
from tb_health_plugin.diagnosis.learning import (
    LEAST_ROWS,
    accuracy_name,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict
from tb_health_plugin.events import facts

# Batches looked at, and places of the epoch they came from. Few are enough where both
# the classes in them and their means must be far from chance.
LEAST_BATCHES = 5
LEAST_PLACES = 5
# Batches of fewer rows hold few classes by chance.
LEAST_BATCH_ROWS = 8
# Variance of the means of batches, in times of what chance gives. With five of them
# chance goes beyond four in 3 of 1,000 runs.
CLASSES_DIFFER = 4.0
TARGETS_DIFFER = 10.0
# A batch holds this share of the classes that chance would give it, or less.
FEW_CLASSES = 0.6
# How well the place in the epoch tells the mean of the batch.
SORTED = 0.9
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How batches differ along an epoch.

    Attributes:
        spread: How far their means spread, in times of what chance gives.
        classes_seen: Classes in a batch, as a median; None without classes.
        classes_expected: Classes that chance would put into it.
        sorted_by_place: How well the place in the epoch tells the mean.
        batches: How many were looked at.
    """

    spread: float
    classes_seen: float | None
    classes_expected: float | None
    sorted_by_place: float
    batches: int


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
    order = _order(training, target)
    if order is None or not _is_sorted(order, is_classes):
        return None
    harm = _harm(training) if is_classes else _harm_to_regression(training)
    if not harm:
        return None
    return _verdict(case, training, order, harm)


def _variance(means: list[float]) -> float:
    """Not `statistics.pvariance`, which raises where the square is infinite."""
    middle = sum(means) / len(means)
    return sum((m - middle) * (m - middle) for m in means) / len(means)


def _order(training: Training, target: Tensor) -> Order | None:
    seen = [(b, target_field(b)) for b in training.batches]
    known = [(b, f) for b, f in seen if f and rows_of(f) >= LEAST_BATCH_ROWS]
    places = {b.batch for b, _ in known if b.batch is not None}
    if len(known) < LEAST_BATCHES or len(places) < LEAST_PLACES:
        return None
    if target.is_one_hot:
        return _order_of_one_hot(known, target)
    if target.std <= 0 or target.width != 1 or len(target.shape) > 2:
        return None
    rows = statistics.median(rows_of(f) for _, f in known)
    means = [f.mean or 0.0 for _, f in known]
    spread = _variance(means) / (target.std * target.std / rows)
    expected, classes = None, None
    if target.counts and all(f.distinct is not None for _, f in known):
        total = sum(target.counts.values())
        shares = [count / total for count in target.counts.values()]
        expected = sum(1 - (1 - share) ** rows for share in shares)
        classes = statistics.median(f.distinct or 0 for _, f in known)
    return Order(
        spread=spread,
        classes_seen=classes,
        classes_expected=expected,
        sorted_by_place=_by_place(known),
        batches=len(known),
    )


def _order_of_one_hot(
    known: Sequence[tuple[facts.BatchSeen, facts.Field]], target: Tensor
) -> Order | None:
    """Columns that are the same in every row are classes that a batch has not."""
    classes = []
    for _, field in known:
        if field.features is None or field.constant_features is None:
            return None
        varied = field.features - field.constant_features
        # A class that fills the batch is constant too.
        classes.append(max(varied, 1))
    rows = statistics.median(rows_of(f) for _, f in known)
    width = target.width or 0
    # Shares of single classes are not recorded; equal ones are taken for expected.
    expected = width * (1 - (1 - 1 / width) ** rows)
    seen = statistics.median(classes)
    return Order(
        spread=CLASSES_DIFFER if seen <= FEW_CLASSES / 2 * expected else 0.0,
        classes_seen=seen,
        classes_expected=expected,
        sorted_by_place=0.0,
        batches=len(known),
    )


def _by_place(known: Sequence[tuple[facts.BatchSeen, facts.Field]]) -> float:
    """Rank correlation of place and mean, as a median over the epochs."""
    epochs: dict[int, list[tuple[int, float]]] = {}
    for seen, field in known:
        if seen.batch is not None:
            pairs = epochs.setdefault(seen.epoch or 0, [])
            pairs.append((seen.batch, field.mean or 0.0))
    found = [
        abs(_correlation(_ranks([p for p, _ in pairs]), _ranks([m for _, m in pairs])))
        for pairs in epochs.values()
        if len(pairs) >= LEAST_PLACES
    ]
    return statistics.median(found) if found else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(other < value for other in values)
        + (sum(other == value for other in values) - 1) / 2
        for value in values
    ]


def _correlation(a: Sequence[float], b: Sequence[float]) -> float:
    try:
        return statistics.correlation(a, b)
    except statistics.StatisticsError:
        return 0.0


def _is_sorted(order: Order, is_classes: bool) -> bool:
    if not is_classes:
        return order.spread >= TARGETS_DIFFER and order.sorted_by_place >= SORTED
    if order.spread < CLASSES_DIFFER:
        return False
    few = (
        order.classes_seen is not None
        and order.classes_expected is not None
        and order.classes_seen <= FEW_CLASSES * order.classes_expected
    )
    return few or order.sorted_by_place >= SORTED


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
            alike.append(_correlation(a, b))
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
        because=f"Labels of {order.batches} batches were compared, and it did harm.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"field": "y"},
        evidence=(
            Evidence(text=f"{what} ({order.batches} batches).{where}", at=at),
            *harm,
        ),
        fixes=_fixes(training),
        explains=_EXPLAINS,
    )


def _fixes(training: Training) -> tuple[Fix, ...]:
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
            code=f"dataset.shuffle({rows:.0f}).batch(...)",
        ),
    )


RULE = Rule(id="unshuffled_data", judge=judge)
