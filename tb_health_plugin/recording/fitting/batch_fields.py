"""What a batch looks like, tensor by tensor: never the data itself."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.field_statistics import described, is_numeric

ROLES = (("x", "input"), ("y", "target"), ("sample_weight", "weight"))
# A model has a handful of inputs and targets; the rest would only fill the record.
_MOST_FIELDS = 32
# Size along an axis that is not the same for every row.
_RAGGED = -1
# Kinds of numpy's types that hold text, or objects of Python.
_TEXT = ("U", "S", "O")


def fields_of(batch: Any, *, thorough: bool = True) -> tuple[facts.Field, ...]:
    """Describes every tensor of what a training step is given.

    Args:
        batch: `x`, `(x,)`, `(x, y)` or `(x, y, sample_weight)`; each one may be
            nested in dicts, lists and tuples.
        thorough: Look at every number for NaN, infinity, minimum and maximum; else
            at a sample of them.
    """
    fields = []
    for name, role, tensor in _tensors(batch):
        fields.append(_field(name, role, tensor, thorough))
        if len(fields) == _MOST_FIELDS:
            break
    return tuple(fields)


def numbers_in(batch: Any) -> int:
    """How many numbers a thorough look would look at."""
    found = 0
    for _, _, tensor in _tensors(batch):
        shape = _shape(tensor)
        found += int(np.prod(shape, dtype=np.int64)) if _RAGGED not in shape else 0
    return found


def _tensors(batch: Any) -> Iterator[tuple[str, str, Any]]:
    """Name, role and tensor of each."""
    parts = tuple(batch) if isinstance(batch, tuple | list) else (batch,)
    if len(parts) > len(ROLES):
        # No batch that Keras knows: a training step of the program's own takes it.
        parts = (parts,)
    for (name, role), part in zip(ROLES, parts, strict=False):
        for path, tensor in _leaves(part, name):
            yield path, role, _of_one_replica(tensor)


def _leaves(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(part, Mapping):
        is_top = path in dict(ROLES)
        for key, inner in part.items():
            yield from _leaves(inner, str(key) if is_top else f"{path}.{key}")
    elif isinstance(part, tuple | list):
        for index, inner in enumerate(part):
            yield from _leaves(inner, f"{path}[{index}]")
    elif part is not None:
        yield path, part


def _of_one_replica(tensor: Any) -> Any:
    """The first local part of a tensor that a strategy spread over replicas."""
    values = getattr(tensor, "values", None)
    # A sparse or ragged tensor has `values` too, but they are one tensor.
    return values[0] if isinstance(values, tuple) and values else tensor


def _field(name: str, role: str, tensor: Any, thorough: bool) -> facts.Field:
    dtype = _dtype(tensor)
    numbers: dict[str, Any] = {}
    array = _array(tensor) if is_numeric(dtype) else None
    if array is not None and array.size:
        is_target = role == "target"
        numbers = described(array, thorough=thorough, list_values=is_target)
    return facts.Field(
        name=name, role=role, dtype=dtype, shape=_shape(tensor), **numbers
    )


def _dtype(tensor: Any) -> str:
    dtype = getattr(tensor, "dtype", type(tensor))
    if getattr(dtype, "kind", "") in _TEXT:
        return "string"
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    return str(name or dtype).rpartition(".")[2]


def _shape(tensor: Any) -> tuple[int, ...]:
    try:
        shape = tuple(getattr(tensor, "shape", ()))
    except ValueError:  # a shape of unknown rank
        return ()
    return tuple(_RAGGED if size is None else int(size) for size in shape)


def _array(tensor: Any) -> Any:
    """Its numbers without a copy where that is possible; None if it has none to show.

    Sparse, ragged and symbolic tensors have none.
    """
    if isinstance(tensor, np.ndarray):
        return tensor
    if not hasattr(tensor, "__array__"):
        return None
    with contextlib.suppress(Exception):  # not every kind says it beforehand
        return np.asarray(tensor)
    return None


def input_scale(fields: tuple[facts.Field, ...]) -> float | None:
    """Highest magnitude in the inputs."""
    ends = [
        abs(end)
        for one in fields
        if one.role == "input"
        for end in (one.minimum, one.maximum)
        if end is not None
    ]
    return max(ends) if ends else None
