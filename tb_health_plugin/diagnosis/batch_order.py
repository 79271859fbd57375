"""How batches differ along an epoch: by chance, or because the rows are sorted."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.batches import Tensor, rows_of, target_field
from tb_health_plugin.diagnosis.case import Training
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


def order_of(training: Training, target: Tensor) -> Order | None:
    """The order of the labels; None if too few batches were looked at."""
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
        kept = (min(max(share, 0.0), 1.0) for share in shares)
        expected = sum(1 - (1 - share) ** rows for share in kept)
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


def is_sorted(order: Order, is_classes: bool) -> bool:
    """More than chance allows."""
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


def _by_place(known: Sequence[tuple[facts.BatchSeen, facts.Field]]) -> float:
    """Rank correlation of place and mean, as a median over the epochs."""
    epochs: dict[int, list[tuple[int, float]]] = {}
    for seen, field in known:
        if seen.batch is not None:
            pairs = epochs.setdefault(seen.epoch or 0, [])
            pairs.append((seen.batch, field.mean or 0.0))
    found = [
        abs(correlation(_ranks([p for p, _ in pairs]), _ranks([m for _, m in pairs])))
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


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """How alike two courses are; 0 if one of them never moves."""
    try:
        return statistics.correlation(a, b)
    except statistics.StatisticsError:
        return 0.0


def _variance(means: list[float]) -> float:
    """Not `statistics.pvariance`, which raises where the square is infinite."""
    middle = sum(means) / len(means)
    return sum((m - middle) * (m - middle) for m in means) / len(means)
