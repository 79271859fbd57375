"""Samples as columns: a table that grows at its end and is cheap to look at."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tb_health_plugin.events.columns import (
    COUNTED,
    LARGEST_COUNT,
    NOT_MEASURED,
    NOT_MEASURED_BITS,
)

Array = npt.NDArray[np.float64]

_FIRST_CAPACITY = 64
TIME = "wall_time"


class Table:
    """Columns of doubles of equal length, `NOT_MEASURED` where a number is missing."""

    def __init__(self) -> None:
        self._columns: dict[str, Array] = {}
        self._length = 0
        self._capacity = _FIRST_CAPACITY

    def __len__(self) -> int:
        return self._length

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def column(self, name: str) -> Array:
        """A view of the column; nothing measured if there is none of that name."""
        if name not in self._columns:
            return np.full(self._length, NOT_MEASURED)
        return self._columns[name][: self._length]

    def has(self, name: str) -> bool:
        """True if at least one number of this column was measured."""
        return name in self._columns and bool(measured(self.column(name)).any())

    def append(self, rows: Mapping[str, Array | Sequence[float]]) -> None:
        """Appends rows given by column; columns not given are not measured."""
        added = max((len(values) for values in rows.values()), default=0)
        if not added:
            return
        self._reserve(self._length + added)
        for name in rows:
            if name not in self._columns:
                self._columns[name] = np.full(self._capacity, NOT_MEASURED)
        for name, values in rows.items():
            new = self._columns[name][self._length : self._length + added]
            new[:] = values
            if name in COUNTED:
                new[~(np.abs(new) <= LARGEST_COUNT)] = NOT_MEASURED
        self._length += added

    def until(self, wall_time: float) -> "Table":
        """The rows up to that moment. Shares memory: not to be appended to."""
        earlier = Table()
        earlier._columns = self._columns
        earlier._capacity = self._capacity
        late = np.flatnonzero(self.column(TIME) > wall_time)
        earlier._length = int(late[0]) if len(late) else self._length
        return earlier

    def _reserve(self, length: int) -> None:
        if length <= self._capacity and self._columns:
            return
        # Half as much again: of a thousand tables the empty ends add up.
        if self._capacity < length:
            self._capacity = max(length, self._capacity + self._capacity // 2)
        for name, old in self._columns.items():
            self._columns[name] = np.full(self._capacity, NOT_MEASURED)
            self._columns[name][: self._length] = old[: self._length]


def measured(values: Array) -> npt.NDArray[np.bool_]:
    """Where a number was measured, be it NaN."""
    return np.asarray(
        np.ascontiguousarray(values).view(np.uint64) != np.uint64(NOT_MEASURED_BITS)
    )
