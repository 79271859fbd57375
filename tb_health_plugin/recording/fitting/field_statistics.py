"""Statistics of one tensor of a batch.

NaN, infinity, minimum and maximum are looked for in every number; all else looks at a
sample, so that its cost does not grow with the tensor.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Enough for a mean and a spread to two digits, in about a millisecond.
_SAMPLE = 1 << 16
# Rows to keep in that sample when rows are long: rows differ more than pixels do.
_SAMPLE_ROWS = 256
# Numbers looked at in one go, so that what is made for them stays small.
_CHUNK = 1 << 20
_MOST_DISTINCT = 1_000
_MOST_VALUES = 32
_NUMERIC = ("float", "bfloat", "int", "uint", "bool")
# Bits that are all set in a number of 16 bits that is NaN or infinite. On these types
# numpy's own arithmetic is many times slower than on bits.
_EXPONENT_BITS = {"float16": 0x7C00, "bfloat16": 0x7F80}


def is_numeric(dtype: str) -> bool:
    """True if statistics make sense: no text, no complex numbers."""
    return dtype.startswith(_NUMERIC)


def described(array: Array, *, thorough: bool, list_values: bool) -> dict[str, Any]:
    """What `facts.Field` says of these numbers.

    Args:
        array: At least one number.
        thorough: Look at every number, not only at the sample, where it matters.
        list_values: Count how often each number occurs.
    """
    with np.errstate(all="ignore"):
        sample = _sample(array)
        kept = sample.numbers[sample.finite]
        found = _spread(kept, sample.numbers.size)
        found |= _in_all(sample.rows) if thorough else _in_sample(sample)
        if sample.has_features:
            found |= _per_feature(sample, thorough)
        return found | (_values(kept) if list_values else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Some of the numbers of a tensor.

    Attributes:
        rows: All numbers, one row of them per row of the batch.
        row_step: Every how many rows are in the sample.
        numbers: The numbers of the sample.
        finite: Which of those are finite.
        has_features: There are two axes, some rows and every feature of them.
    """

    rows: Array
    row_step: int
    numbers: Array
    finite: Array
    has_features: bool


def _sample(array: Array) -> _Sample:
    rows = array.reshape(array.shape[0] if array.ndim else 1, -1)
    count, length = rows.shape
    row_step, column_step = 1, 1
    if rows.size > _SAMPLE:
        row_step = math.ceil(count * min(length, _SAMPLE // _SAMPLE_ROWS) / _SAMPLE)
        if array.ndim == 2 and length <= _SAMPLE // 2:
            # Features are compared one by one: fewer rows, but every feature.
            row_step = math.ceil(rows.size / _SAMPLE)
        column_step = math.ceil(math.ceil(count / row_step) * length / _SAMPLE)
        # A step of 3 through red, green and blue would only see red.
        while math.gcd(column_step, array.shape[-1]) > 1:
            column_step += 1
    numbers = rows[::row_step, ::column_step].astype(np.float64)
    return _Sample(
        rows=rows,
        row_step=row_step,
        numbers=numbers,
        finite=np.isfinite(numbers),
        has_features=array.ndim == 2 and column_step == 1 and len(numbers) > 1,
    )


def _spread(kept: Array, size: int) -> dict[str, Any]:
    if not kept.size:
        return {}
    return {
        "minimum": float(kept.min()),
        "maximum": float(kept.max()),
        "mean": float(kept.mean()),
        "std": float(kept.std()),
        "zero_fraction": (kept.size - int(np.count_nonzero(kept))) / size,
        "whole_numbers": bool((kept == np.trunc(kept)).all()),
    }


def _in_sample(sample: _Sample) -> dict[str, Any]:
    bad = sample.finite.size - int(np.count_nonzero(sample.finite))
    if not bad:
        return {"nonfinite_count": 0}
    row = int(np.argmin(sample.finite.all(axis=1))) * sample.row_step
    return {"nonfinite_count": bad, "bad_row": row}


def _in_all(rows: Array) -> dict[str, Any]:
    if rows.dtype.kind in "biu":
        return _extremes(rows) | {"nonfinite_count": 0}
    if rows.dtype.name not in _EXPONENT_BITS:
        found = _extremes(rows)
        if found:
            return found | {"nonfinite_count": 0}
    return _bad_numbers(rows)


def _extremes(rows: Array) -> dict[str, Any]:
    """Minimum and maximum; nothing if one of the numbers is NaN or infinite."""
    low, high = float(rows.min()), float(rows.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        return {}
    return {"minimum": low, "maximum": high}


def _bad_numbers(rows: Array) -> dict[str, Any]:
    """How many numbers are NaN or infinite, and the first row that has one."""
    count, top, first = 0, 0, None
    for chunk in _chunks(rows):
        bad = _is_bad(chunk)
        found = int(np.count_nonzero(bad))
        if found and first is None:
            first = top + int(np.argmax(bad.any(axis=1)))
        count += found
        top += len(chunk)
    return {"nonfinite_count": count} | ({} if first is None else {"bad_row": first})


def _chunks(rows: Array) -> Iterator[Array]:
    height = max(1, _CHUNK // rows.shape[1])
    for top in range(0, len(rows), height):
        yield rows[top : top + height]


def _is_bad(chunk: Array) -> Array:
    bits = _EXPONENT_BITS.get(chunk.dtype.name)
    if bits is None:
        return ~np.isfinite(chunk)
    # No view of an array that is not contiguous.
    same: Array = (np.ascontiguousarray(chunk).view(np.uint16) & bits) == bits
    return same


def _per_feature(sample: _Sample, thorough: bool) -> dict[str, Any]:
    numbers = np.where(sample.finite, sample.numbers, 0.0)
    counts = np.maximum(sample.finite.sum(axis=0), 1)
    means = numbers.sum(axis=0) / counts
    spread = np.where(sample.finite, sample.numbers - means, 0.0)
    stds = np.sqrt((spread**2).sum(axis=0) / counts)
    constant = (sample.numbers == sample.numbers[0]).all(axis=0)
    if thorough and sample.row_step > 1 and constant.any():
        # What is the same in the sample may differ in a row that is not in it.
        for chunk in _chunks(sample.rows):
            constant &= (chunk == sample.rows[0]).all(axis=0)
    varied = stds[~constant]
    return {
        "features": int(sample.rows.shape[1]),
        "constant_features": int(np.count_nonzero(constant)),
        "lowest_feature_std": float(varied.min()) if varied.size else None,
        "highest_feature_std": float(stds.max()),
    }


def _values(kept: Array) -> dict[str, Any]:
    if not kept.size:
        return {}
    values, counts = np.unique(kept, return_counts=True)
    found: dict[str, Any] = {"distinct": min(len(values), _MOST_DISTINCT)}
    # Measured targets of a small batch are the data itself; classes repeat, or are
    # whole numbers.
    are_classes = 2 * len(values) <= kept.size or bool((values % 1 == 0).all())
    if len(values) <= _MOST_VALUES and are_classes:
        order = np.argsort(-counts, kind="stable")
        found["values"] = tuple(values[order].tolist())
        found["counts"] = tuple(counts[order].tolist())
    return found
