"""Numbers out of whatever a loop hands over: Python, numpy or tensors of TensorFlow."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


# TensorFlow's own, once it is there: to look it up takes as long as to call it.
_executing_eagerly: Callable[[], bool] | None = None


def inside_function() -> bool:
    """True while TensorFlow traces a function: what runs now runs only once."""
    global _executing_eagerly
    if _executing_eagerly is None:
        tf = sys.modules.get("tensorflow")
        # While the program imports it, it is there and has nothing in it yet.
        _executing_eagerly = getattr(tf, "executing_eagerly", None)
        if _executing_eagerly is None:
            return False
    return not _executing_eagerly()


def is_on_gpu(value: Any) -> bool:
    """True if reading it would make Python wait for a GPU."""
    device = getattr(value, "device", None)
    return isinstance(device, str) and "GPU" in device


def to_float(value: Any) -> float:
    """One number; of several numbers their mean."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float(np.mean(to_array(value)))


def to_array(value: Any) -> Array:
    """Its numbers; of a sparse gradient those that are there. Not copied on a CPU."""
    # A dict has a method of this name.
    values = getattr(value, "values", None)
    return np.asarray(value if values is None or callable(values) else values)


def is_real(array: Array) -> bool:
    """True if its numbers could be NaN. Numpy has no kind for bfloat16."""
    return array.dtype.kind == "f" or array.dtype.name.startswith(("bfloat", "float"))


def norm(array: Array) -> float:
    """The Euclidean norm; NaN or infinite exactly if one of the numbers is."""
    with np.errstate(all="ignore"):
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32)
        flat = array.ravel(order="K")
        squares = float(np.dot(flat, flat))
        if math.isfinite(squares):
            return math.sqrt(squares)
        # Squares of large numbers leave float32 before the numbers do.
        return float(np.linalg.norm(flat.astype(np.float64)))
