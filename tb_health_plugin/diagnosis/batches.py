"""What the batches of a training looked like, taken together."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Training
from tb_health_plugin.events import facts

# A row of one-hot classes sums to 1; the rest is rounding.
_ONE_HOT_ERROR = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor of a batch over all batches that were looked at.

    Attributes:
        name: Its name in the batch.
        dtype: Type of its numbers.
        shape: Its shape in the first batch, the batch first.
        batches: How many batches were looked at.
        rows: How many rows they had together.
        minimum: Lowest number.
        maximum: Highest number.
        mean: Mean of the numbers.
        std: Standard deviation of all of them.
        whole_numbers: Every number is whole; None if nobody looked.
        counts: How often each number occurs; None if they are too many.
        highest_feature_std: The widest feature of a tensor with two axes.
        lowest_feature_std: The narrowest one that is not constant.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    batches: int
    rows: int
    minimum: float
    maximum: float
    mean: float
    std: float
    whole_numbers: bool | None
    counts: Counter[float] | None
    highest_feature_std: float | None
    lowest_feature_std: float | None

    @property
    def width(self) -> int | None:
        """Size of the last axis; 1 if there is only the batch."""
        if not self.shape:
            return None
        return self.shape[-1] if len(self.shape) > 1 else 1

    @property
    def is_one_hot(self) -> bool:
        """Zeros and ones, one of them per row."""
        return self._is_zero_one and abs(self.ones_per_row - 1) < _ONE_HOT_ERROR

    @property
    def is_multi_hot(self) -> bool:
        """Zeros and ones, but not one per row."""
        return self._is_zero_one and not self.is_one_hot

    @property
    def ones_per_row(self) -> float:
        return self.mean * (self.width or 0)

    @property
    def _is_zero_one(self) -> bool:
        wide = (self.width or 0) > 1 and len(self.shape) == 2
        return wide and self.counts is not None and set(self.counts) <= {0.0, 1.0}

    @property
    def magnitude(self) -> float:
        return max(abs(self.minimum), abs(self.maximum))


def inputs_of(training: Training) -> list[Tensor]:
    """Every input that has numbers."""
    return list(_pooled(training.batches, "input").values())


def target_of(training: Training) -> Tensor | None:
    """The only target; None with none, or several."""
    found = list(_pooled(training.batches, "target").values())
    return found[0] if len(found) == 1 else None


def target_field(seen: facts.BatchSeen) -> facts.Field | None:
    """The only target of one batch, if its numbers are known."""
    found = [field for field in seen.fields if field.role == "target"]
    return found[0] if len(found) == 1 and _has_numbers(found[0]) else None


def _pooled(batches: Sequence[facts.BatchSeen], role: str) -> dict[str, Tensor]:
    fields: dict[str, list[facts.Field]] = {}
    for seen in batches:
        for field in seen.fields:
            if field.role == role and _has_numbers(field):
                fields.setdefault(field.name, []).append(field)
    return {name: _pool(name, found) for name, found in fields.items()}


def _has_numbers(field: facts.Field) -> bool:
    numbers = (field.minimum, field.maximum, field.mean, field.std)
    return all(n is not None and math.isfinite(n) for n in numbers)


def rows_of(field: facts.Field) -> int:
    return max(field.shape[0], 1) if field.shape else 1


def _pool(name: str, fields: Sequence[facts.Field]) -> Tensor:
    rows = [rows_of(field) for field in fields]
    total = sum(rows)
    means = [field.mean or 0.0 for field in fields]
    mean = sum(m * r for m, r in zip(means, rows, strict=True)) / total
    # Not x**2, which raises where a product is infinite.
    variance = sum(
        ((field.std or 0.0) * (field.std or 0.0) + (m - mean) * (m - mean)) * r
        for field, m, r in zip(fields, means, rows, strict=True)
    )
    known = [f.whole_numbers for f in fields if f.whole_numbers is not None]
    return Tensor(
        name=name,
        dtype=fields[0].dtype,
        shape=tuple(fields[0].shape),
        batches=len(fields),
        rows=total,
        minimum=min(_known(f.minimum for f in fields)),
        maximum=max(_known(f.maximum for f in fields)),
        mean=mean,
        std=math.sqrt(max(variance / total, 0.0)),
        whole_numbers=all(known) if known else None,
        counts=_counts(fields),
        highest_feature_std=max(
            _known(f.highest_feature_std for f in fields), default=None
        ),
        lowest_feature_std=min(
            _known(f.lowest_feature_std for f in fields), default=None
        ),
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [v for v in values if v is not None and math.isfinite(v)]


def _counts(fields: Sequence[facts.Field]) -> Counter[float] | None:
    counts: Counter[float] = Counter()
    for field in fields:
        if not field.values or len(field.values) != len(field.counts):
            return None
        for value, count in zip(field.values, field.counts, strict=True):
            counts[value] += count
    return counts or None


def rows_per_epoch(training: Training) -> float:
    """How many rows an epoch has, as far as its steps tell."""
    first = next((e for e in training.epochs if e.last_step is not None), None)
    steps = 1
    if first is not None and first.last_step is not None:
        steps = max(first.last_step - (first.first_step or 0), 1)
    return steps * (training.number("batch_size") or 32.0)
