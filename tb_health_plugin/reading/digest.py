"""A long history in bounded size, so that judging it never takes longer and longer.

A run of minutes is left as it is. Of a long one the newest is kept as it was written;
what is older is put together in groups, whose size doubles as the run grows. Which
facts and rows make a group follows from their number alone, so that a run judged live
and the same run judged later are the same.
"""

import dataclasses
import math
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Array, Table, measured

# Rows of samples: about an hour of seconds stays as it is, then ten minutes of it.
MOST_GROUPS = 2_048
NEWEST_ROWS = 600
# Stretches of time spent: more than an hour of them stays as it is.
MOST_STRETCHES = 512
NEWEST_STRETCHES = 128
# Looks at single steps and batches, and epochs: every n-th of those in the middle is
# kept. The first ones tell how it began, the last ones how it stands.
THINNED: dict[type[facts.Fact], tuple[int, int, int]] = {
    facts.Inspected: (48, 160, 64),
    facts.BatchSeen: (400, 500, 200),
    facts.EpochEnded: (200, 800, 400),
}
_SUMMED = (
    "seconds",
    "steps",
    "examples",
    "wait_seconds",
    "step_seconds",
    "validation_seconds",
    "validation_wait_seconds",
    "validation_steps",
    "save_seconds",
    "recording_seconds",
    "gc_seconds",
    "traces",
)
_LAST_KNOWN = ("python_objects", "tensors", "variables", "tensors_kept_by")

F = TypeVar("F", bound=facts.Fact)


def bounded(attempt: Attempt) -> Attempt:
    """The attempt itself if it is short, else the same in bounded size.

    Asked again after the attempt has grown, it costs what is new, and no more.
    """
    digest = _digests.get(attempt)
    if digest is None:
        digest = _digests[attempt] = _Digest()
    return digest.of(attempt)


class _Digest:
    """What is known of one attempt from the last time."""

    def __init__(self) -> None:
        self._rows = _Rows()
        self._stretches = _Stretches()
        self._odd = _OddBatches()

    def of(self, attempt: Attempt) -> Attempt:
        long = [
            k for k, (a, b, c) in THINNED.items() if len(attempt.all(k)) > a + b + c
        ]
        spent = attempt.all(facts.TimeSpent)
        is_spent_long = len(spent) > MOST_STRETCHES + NEWEST_STRETCHES
        are_rows_many = len(attempt.samples) > MOST_GROUPS + NEWEST_ROWS
        if not long and not is_spent_long and not are_rows_many:
            return attempt
        small = Attempt(attempt.id)
        small.period_seconds = attempt.period_seconds
        small.samples = attempt.samples
        if are_rows_many:
            small.samples = self._rows.of(attempt.samples)
        for kind in attempt.kinds():
            found: Sequence[facts.Fact] = attempt.all(kind)
            if kind in long:
                also = self._odd.among(found) if kind is facts.BatchSeen else ()
                found = _thinned(found, *THINNED[kind], also)
            elif kind is facts.TimeSpent and is_spent_long:
                found = self._stretches.of(spent)
            small.add_all(kind, found)
        return small


_digests: "weakref.WeakKeyDictionary[Attempt, _Digest]" = weakref.WeakKeyDictionary()


def _stride(count: int, most: int) -> int:
    """How many make a group: a power of two."""
    return 1 << max(0, math.ceil(math.log2(max(count, 1) / most)))


def _thinned(
    found: Sequence[F], first: int, middle: int, last: int, also: Sequence[int]
) -> list[F]:
    begin, end = first, len(found) - last
    stride = _stride(end - begin, middle)
    # Counted from the very first, so that those kept are always the same.
    picked = {*range(begin + -begin % stride, end, stride)}
    picked.update(place for place in also if begin <= place < end)
    return [*found[:begin], *(found[i] for i in sorted(picked)), *found[end:]]


class _OddBatches:
    """Places of batches that no other one can stand for.

    Those with bad numbers, and those with a lower or higher number than any before.
    """

    # More than this are not odd.
    MOST = 200

    def __init__(self) -> None:
        self._seen = 0
        self._places: list[int] = []
        self._ranges: dict[str, tuple[float, float]] = {}

    def among(self, batches: Sequence[facts.Fact]) -> Sequence[int]:
        for place in range(self._seen, len(batches)):
            batch = batches[place]
            if isinstance(batch, facts.BatchSeen) and self._is_odd(batch):
                self._places.append(place)
        self._seen = len(batches)
        return self._places[: self.MOST]

    def _is_odd(self, batch: facts.BatchSeen) -> bool:
        odd = False
        for field in batch.fields:
            odd |= bool(field.nonfinite_count)
            if field.minimum is None or field.maximum is None:
                continue
            low, high = self._ranges.get(field.name, (math.inf, -math.inf))
            if field.minimum < low or field.maximum > high:
                odd = True
                wider = (min(low, field.minimum), max(high, field.maximum))
                self._ranges[field.name] = wider
        return odd


class _Rows:
    """Groups of samples: of each column what was measured last in the group."""

    def __init__(self) -> None:
        self._stride = 1
        self._groups = 0
        self._columns: dict[str, Array] = {}

    def of(self, table: Table) -> Table:
        older = len(table) - NEWEST_ROWS
        while self._stride < _stride(older, MOST_GROUPS):
            self._double()
        groups = older // self._stride
        rows = {}
        for name in table.names:
            column = table.column(name)
            kept = self._columns.get(name)
            if kept is None:
                kept = np.full(self._groups, NOT_MEASURED)
            new = column[self._groups * self._stride : groups * self._stride]
            if len(new):
                kept = np.concatenate([kept, _last_measured(new, self._stride)])
                self._columns[name] = kept
            rows[name] = np.concatenate([kept, column[groups * self._stride :]])
        self._groups = groups
        small = Table()
        small.append(rows)
        return small

    def _double(self) -> None:
        self._stride *= 2
        self._groups //= 2
        for name, kept in self._columns.items():
            self._columns[name] = _last_measured(kept[: 2 * self._groups], 2)


def _last_measured(values: Array, stride: int) -> Array:
    """One value for each `stride` of them, which divides their number."""
    if stride == 1:
        return values
    block = values.reshape(-1, stride)
    known = measured(values).reshape(-1, stride)
    last = stride - 1 - np.argmax(known[:, ::-1], axis=1)
    return np.asarray(block[np.arange(len(block)), last])


class _Stretches:
    """Groups of stretches of time, added up."""

    def __init__(self) -> None:
        self._stride = 1
        self._groups: list[list[facts.TimeSpent]] = []

    def of(self, spent: Sequence[facts.TimeSpent]) -> list[facts.TimeSpent]:
        older = len(spent) - NEWEST_STRETCHES
        while self._stride < _stride(older, MOST_STRETCHES):
            self._double()
        stride = self._stride
        for group in range(len(self._groups), older // stride):
            self._groups.append(_added(spent[group * stride : (group + 1) * stride]))
        done = len(self._groups) * stride
        return [*(one for group in self._groups for one in group), *spent[done:]]

    def _double(self) -> None:
        self._stride *= 2
        pairs = zip(self._groups[::2], self._groups[1::2], strict=False)
        self._groups = [_added([*one, *other]) for one, other in pairs]


def _added(spent: Sequence[facts.TimeSpent]) -> list[facts.TimeSpent]:
    """One stretch for all in a row that belong to the same training."""
    return [_sum(part) for part in _by_training(spent)]


def _by_training(
    spent: Sequence[facts.TimeSpent],
) -> Iterator[Sequence[facts.TimeSpent]]:
    begin = 0
    for place in range(1, len(spent) + 1):
        if place == len(spent) or spent[place].training != spent[begin].training:
            yield spent[begin:place]
            begin = place


def _sum(spent: Sequence[facts.TimeSpent]) -> facts.TimeSpent:
    if len(spent) == 1:
        return spent[0]
    callbacks: dict[str, float] = {}
    for one in spent:
        for name, seconds in one.callback_seconds.items():
            callbacks[name] = callbacks.get(name, 0.0) + seconds
    sums: dict[str, Any] = {}
    for name in _SUMMED:
        known = [value for one in spent if (value := getattr(one, name)) is not None]
        sums[name] = sum(known) if known else None
    for name in _LAST_KNOWN:
        known = [value for one in spent if (value := getattr(one, name)) is not None]
        sums[name] = known[-1] if known else None
    return dataclasses.replace(
        spent[-1], since=spent[0].since, callback_seconds=callbacks, **sums
    )
