"""Logs health events through the summary writer you already have.

In the idiom of `tf.summary`: each function writes to the current default writer, and
its `*_pb` twin returns the `Summary` proto for any other writer.

    with tf.summary.create_file_writer("logs/run1").as_default():
        summary.resources(step=step, process_rss_bytes=rss)

The recorder uses the same codec, so the tab cannot tell the two apart. Inside a
`tf.function`, `resources`, `gradients` and `data_pipeline` take tensors and write
when the graph runs; `incident` and `stop` hold words and write when it is traced,
so call them outside.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_health_plugin.events import codec, columns, facts, tags

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary

__all__ = [
    "data_pipeline",
    "data_pipeline_pb",
    "gradients",
    "gradients_pb",
    "incident",
    "incident_pb",
    "resources",
    "resources_pb",
    "stop",
    "stop_pb",
]

_GRADIENT_COLUMNS = tuple(column.name for column in columns.GRADIENTS)


def resources(*, step: Any = None, name: str = "", **values: Any) -> Any:
    """Logs a sample of resources: memory and the like.

    Args:
        step: Training step; `tf.summary.experimental.get_step()` if omitted.
        name: Tells several series of one run apart, for example one per device.
        **values: Numbers or scalar tensors by column, such as
            `process_rss_bytes=...`. `docs/event_format.md` lists the columns.

    Returns:
        True on success, False if there is no default writer.

    Raises:
        ValueError: A column is not known, or the name cannot be part of a tag.
    """
    return _write_numbers(tags.RESOURCES, columns.RESOURCES, values, step, name)


def resources_pb(*, name: str = "", **values: float) -> "Summary":
    """The proto that `resources` writes."""
    return _numbers_pb(tags.RESOURCES, columns.RESOURCES, values, name)


def data_pipeline(*, step: Any = None, name: str = "", **values: Any) -> Any:
    """Logs a sample of the data pipeline: how long a step waited for its data.

    Args:
        step: Training step; `tf.summary.experimental.get_step()` if omitted.
        name: Tells several pipelines of one run apart.
        **values: Numbers or scalar tensors by column, such as
            `wait_seconds=..., step_seconds=...`.

    Returns:
        True on success, False if there is no default writer.

    Raises:
        ValueError: A column is not known, or the name cannot be part of a tag.
    """
    return _write_numbers(tags.DATA_PIPELINE, columns.DATA_PIPELINE, values, step, name)


def data_pipeline_pb(*, name: str = "", **values: float) -> "Summary":
    """The proto that `data_pipeline` writes."""
    return _numbers_pb(tags.DATA_PIPELINE, columns.DATA_PIPELINE, values, name)


def gradients(
    grads_and_vars: Iterable[tuple[Any, Any]], *, step: Any = None, name: str = ""
) -> Any:
    """Logs norms, NaN counts and zero shares of gradients, one row per variable.

    The statistics are computed in the graph; the gradients themselves are not kept.

    Args:
        grads_and_vars: Pairs as for `optimizer.apply_gradients`. A gradient may be
            None (the loss does not reach the variable) or `tf.IndexedSlices`.
        step: Training step; `tf.summary.experimental.get_step()` if omitted.
        name: Tells several models of one run apart.

    Returns:
        True on success, False if there is no default writer.

    Raises:
        ValueError: There are no pairs, or the name cannot be part of a tag.
    """
    tf = _tensorflow()
    pairs = list(grads_and_vars)
    if not pairs:
        raise ValueError("grads_and_vars is empty: expected (gradient, variable) pairs")
    table = tf.stack([_statistics(tf, grad, variable) for grad, variable in pairs])
    rows = [getattr(variable, "path", variable.name) for _, variable in pairs]
    return tf.summary.write(
        tag=tags.named(tags.GRADIENTS, name),
        tensor=table,
        step=step,
        metadata=_tf_metadata(tf, _GRADIENT_COLUMNS, rows),
    )


def gradients_pb(
    gradients: Mapping[str, tuple[Any, Any]], *, name: str = ""
) -> "Summary":
    """The proto that `gradients` writes, from arrays.

    Args:
        gradients: By variable name: the gradient (or None) and the variable, each
            anything that numpy makes an array of.
        name: Tells several models of one run apart.

    Raises:
        ValueError: There are no gradients, or the name cannot be part of a tag.
    """
    if not gradients:
        raise ValueError("gradients is empty: expected {name: (gradient, variable)}")
    rows = [_array_statistics(grad, weight) for grad, weight in gradients.values()]
    by_column = {
        column: [row[index] for row in rows]
        for index, column in enumerate(_GRADIENT_COLUMNS)
    }
    tag = tags.named(tags.GRADIENTS, name)
    return codec.sample_summary(tag, by_column, list(gradients))


def incident(
    kind: str,
    message: str,
    *,
    step: Any = None,
    severity: str = "info",
    text: str | None = None,
    wall_time: float | None = None,
) -> Any:
    """Logs something worth a mark on the timeline.

    Args:
        kind: What happened, as a short stable word: "checkpoint_saved".
        message: One sentence for people.
        step: Training step; `tf.summary.experimental.get_step()` if omitted.
        severity: "info", "warning" or "critical".
        text: Longer text: a traceback, the tail of a log.
        wall_time: When it happened, if that was not now.

    Returns:
        True on success, False if there is no default writer.

    Raises:
        ValueError: The kind, the severity or the time is none.
    """
    fact = _incident(kind, message, severity, text, wall_time)
    return _write_fact(fact, step)


def incident_pb(
    kind: str,
    message: str,
    *,
    severity: str = "info",
    text: str | None = None,
    wall_time: float | None = None,
) -> "Summary":
    """The proto that `incident` writes."""
    return codec.fact_summary(_incident(kind, message, severity, text, wall_time))


def stop(
    reason: str,
    *,
    step: Any = None,
    message: str | None = None,
    text: str | None = None,
    wall_time: float | None = None,
) -> Any:
    """Logs that the training stopped, and why as far as the program knows.

    Args:
        reason: "finished", "exception", "interrupted" or another short word.
        step: Training step; `tf.summary.experimental.get_step()` if omitted.
        message: One sentence for people.
        text: Longer text, such as a traceback.
        wall_time: When it stopped, if that was not now.

    Returns:
        True on success, False if there is no default writer.

    Raises:
        ValueError: The reason or the time is none.
    """
    return _write_fact(_stop(reason, message, text, wall_time), step)


def stop_pb(
    reason: str,
    *,
    message: str | None = None,
    text: str | None = None,
    wall_time: float | None = None,
) -> "Summary":
    """The proto that `stop` writes."""
    return codec.fact_summary(_stop(reason, message, text, wall_time))


def _incident(
    kind: str, message: str, severity: str, text: str | None, wall_time: float | None
) -> facts.Incident:
    if severity not in facts.SEVERITIES:
        raise ValueError(
            f"severity={severity!r} is not known: expected one of "
            f"{', '.join(facts.SEVERITIES)}"
        )
    return facts.Incident(
        wall_time=time.time(),
        kind=_word("kind", kind),
        message=message,
        severity=severity,
        text=text,
        happened_at=None if wall_time is None else codec.check_wall_time(wall_time),
    )


def _stop(
    reason: str, message: str | None, text: str | None, wall_time: float | None
) -> facts.RunEnded:
    return facts.RunEnded(
        wall_time=time.time(),
        reason=_word("reason", reason),
        message=message,
        text=text,
        happened_at=None if wall_time is None else codec.check_wall_time(wall_time),
    )


def _word(what: str, word: str) -> str:
    if not word or tags.named("", word) != f"/{word}":
        raise ValueError(f"{what} is empty: expected a short word")
    return word


def _numbers_pb(
    tag: str,
    allowed: tuple[columns.Column, ...],
    values: Mapping[str, float],
    name: str,
) -> "Summary":
    _check_values(allowed, values)
    return codec.sample_summary(tags.named(tag, name), values)


def _write_numbers(
    tag: str,
    allowed: tuple[columns.Column, ...],
    values: Mapping[str, Any],
    step: Any,
    name: str,
) -> Any:
    _check_values(allowed, values)
    tf = _tensorflow()
    return tf.summary.write(
        tag=tags.named(tag, name),
        tensor=tf.stack([tf.cast(value, tf.float64) for value in values.values()]),
        step=step,
        metadata=_tf_metadata(tf, tuple(values)),
    )


def _check_values(
    allowed: tuple[columns.Column, ...], values: Mapping[str, Any]
) -> None:
    if not values:
        raise ValueError("no numbers were given: expected at least one, by name")
    columns.check_names(values, allowed)


def _write_fact(fact: facts.Fact, step: Any) -> Any:
    tf = _tensorflow()
    (value,) = codec.fact_summary(fact).value
    return tf.summary.write(
        tag=value.tag,
        tensor=tf.constant(value.tensor.string_val[0]),
        step=step,
        metadata=_tf_metadata(tf),
    )


def _tf_metadata(tf: Any, names: Sequence[str] = (), rows: Sequence[str] = ()) -> Any:
    """Our metadata as TensorFlow's own class of the same message."""
    ours = codec.metadata(names, rows)
    return tf.compat.v1.SummaryMetadata.FromString(ours.SerializeToString())


def _statistics(tf: Any, gradient: Any, variable: Any) -> Any:
    weight = tf.cast(tf.convert_to_tensor(variable), tf.float32)
    size = tf.cast(tf.size(weight), tf.float64)
    weight_norm = tf.cast(tf.norm(weight), tf.float64)
    if gradient is None:
        nan = tf.constant(math.nan, tf.float64)
        nothing = tf.constant(0.0, tf.float64)
        return tf.stack([nothing, nan, nothing, nan, size, weight_norm])
    given = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    numbers = tf.cast(given, tf.float32)
    bad = tf.logical_not(tf.math.is_finite(numbers))
    # Rows that an IndexedSlices leaves out are zeros.
    nonzero = tf.math.count_nonzero(numbers, dtype=tf.int64)
    parts = [
        1.0,
        tf.norm(numbers),
        tf.math.count_nonzero(bad, dtype=tf.int64),
        1.0 - tf.cast(nonzero, tf.float64) / tf.maximum(size, 1.0),
        size,
        weight_norm,
    ]
    return tf.stack([tf.cast(part, tf.float64) for part in parts])


def _array_statistics(gradient: Any, variable: Any) -> tuple[float, ...]:
    import numpy as np  # noqa: PLC0415 - the other functions do without it

    weight = np.asarray(variable, np.float64)
    size, weight_norm = float(weight.size), float(np.linalg.norm(weight))
    if gradient is None:
        return (0.0, math.nan, 0.0, math.nan, size, weight_norm)
    numbers = np.asarray(gradient, np.float64)
    return (
        1.0,
        float(np.linalg.norm(numbers)),
        float(np.count_nonzero(~np.isfinite(numbers))),
        1.0 - float(np.count_nonzero(numbers)) / max(size, 1.0),
        size,
        weight_norm,
    )


def _tensorflow() -> Any:
    import tensorflow as tf  # noqa: PLC0415 - the *_pb twins work without it

    return tf
