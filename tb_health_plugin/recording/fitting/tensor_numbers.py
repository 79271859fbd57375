"""Numbers about one tensor, computed where the tensor is.

Each kind of numbers is one function of TensorFlow, traced once per process: a graph
that is to be measured grows by a call per tensor, and is soon traced.
"""

import functools
from typing import Any

import tensorflow as tf

# What `vector_numbers` and `output_numbers` give, in their order.
VECTOR = ("norm", "nonfinite", "nonzero", "nans")
OUTPUT = (
    "zero_fraction",
    "dead_fraction",
    "saturated_fraction",
    "minimum",
    "maximum",
    "std",
    "nonfinite",
    "nans",
    "bad_row",
)
NAN = float("nan")
_INF = float("inf")
# An activation this near to an end of its range hardly learns any more.
_NEAR_THE_END = 0.01
# Below this, squares of small numbers are lost.
_LEAST_SQUARES = 1e-30


def vector_numbers(tensor: Any) -> Any:
    """Numbers of weights, or of a gradient; None gives NaN."""
    if tensor is None or not tensor.dtype.is_floating:
        return tf.constant([NAN] * len(VECTOR))
    if isinstance(tensor, tf.IndexedSlices):
        tensor = _summed_rows(tensor)
    return _functions()[0](tf.reshape(tf.cast(tensor, tf.float32), [-1]))


def output_numbers(output: Any, ends: tuple[float, float] | None) -> Any:
    """Numbers of what a layer gives out.

    Args:
        output: That.
        ends: Ends of the range of its activation, if it has such.
    """
    rank = output.shape.rank
    units = output.shape[-1] if rank is not None and rank > 1 else 1
    if units is None:
        units = tf.shape(output)[-1]
    rows = tf.shape(output)[0] if rank else 1
    low, high = ends or (NAN, NAN)
    known = tf.constant([low, high, 1.0 if rank and rank > 1 else NAN])
    values = tf.reshape(tf.cast(output, tf.float32), [-1, units])
    return _functions()[1](values, rows, known)


@functools.cache
def _functions() -> tuple[Any, Any]:
    whole = functools.partial(
        tf.function, autograph=False, experimental_attributes={"_noinline": True}
    )
    vector = tf.TensorSpec([None], tf.float32)
    table = tf.TensorSpec([None, None], tf.float32)
    rows = tf.TensorSpec([], tf.int32)
    known = tf.TensorSpec([3], tf.float32)
    return (
        whole(_vector_numbers, input_signature=[vector]),
        whole(_output_numbers, input_signature=[table, rows, known]),
    )


def _vector_numbers(values: Any) -> Any:
    # One operation that takes no memory, and mostly the answer.
    half = tf.nn.l2_loss(values)
    is_plain = tf.math.is_finite(half) & (half > _LEAST_SQUARES)
    norm, nonfinite, nans = tf.cond(
        is_plain,
        lambda: (tf.sqrt(2.0 * half), tf.constant(0.0), tf.constant(0.0)),
        lambda: _hard_numbers(values),
    )
    return tf.stack([norm, nonfinite, _count(tf.not_equal(values, 0.0)), nans])


def _hard_numbers(values: Any) -> tuple[Any, Any, Any]:
    """Norm and bad numbers where a sum of squares leaves what float32 can hold."""
    highest = tf.where(tf.size(values) > 0, tf.reduce_max(tf.abs(values)), 0.0)
    scaled = tf.math.divide_no_nan(values, highest)
    # Divided by the highest first: so it overflows only if the norm itself does.
    norm = highest * tf.sqrt(tf.reduce_sum(tf.square(scaled)))
    nonfinite = _count(~tf.math.is_finite(values))
    return (
        tf.where(nonfinite > 0, _INF, norm),
        nonfinite,
        _count(tf.math.is_nan(values)),
    )


def _output_numbers(values: Any, rows: Any, known: Any) -> Any:
    low, high, if_table = known[0], known[1], known[2]
    count = tf.cast(tf.size(values), tf.float32)
    finite = tf.math.is_finite(values)
    is_zero = tf.equal(values, 0.0)
    good = tf.where(finite, values, 0.0)
    good_count = _count(finite)
    mean = tf.math.divide_no_nan(tf.reduce_sum(good), good_count)
    spread = tf.where(finite, values - mean, 0.0)
    is_dead = tf.reduce_all(is_zero, axis=0)
    is_near = (values <= low + _NEAR_THE_END) | (values >= high - _NEAR_THE_END)
    # NaN where there is nothing to take it of.
    share = tf.where(tf.math.is_nan(low), NAN, 1.0)
    if_good = tf.where(good_count > 0, 0.0, NAN)
    return tf.stack(
        [
            _count(is_zero) / count,
            tf.reduce_mean(tf.cast(is_dead, tf.float32)) * if_table,
            _count(is_near) / count * share,
            tf.reduce_min(tf.where(finite, values, _INF)) + if_good,
            tf.reduce_max(tf.where(finite, values, -_INF)) + if_good,
            tf.sqrt(tf.reduce_sum(tf.square(spread)) / good_count),
            _count(~finite),
            _count(tf.math.is_nan(values)),
            _bad_row(tf.reduce_all(finite, axis=1), rows),
        ]
    )


def _summed_rows(gradient: Any) -> Any:
    """Rows of a sparse gradient, each once; all others are zero."""
    indices, place = tf.unique(tf.reshape(gradient.indices, [-1]))
    return tf.math.unsorted_segment_sum(gradient.values, place, tf.size(indices))


def _count(flags: Any) -> Any:
    # Not `count_nonzero`: it takes eight bytes for every flag.
    return tf.reduce_sum(tf.cast(flags, tf.float32))


def _bad_row(is_fine: Any, rows: Any) -> Any:
    """First row of the batch with a bad number."""
    first = tf.argmin(tf.cast(is_fine, tf.int32), output_type=tf.int32)
    in_one_row = tf.maximum(1, tf.size(is_fine) // tf.maximum(1, rows))
    row = tf.cast(first // in_one_row, tf.float32)
    return tf.where(tf.reduce_all(is_fine), NAN, row)
