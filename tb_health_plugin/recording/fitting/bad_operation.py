"""Which operation gave out the first bad number of a step, and where it was written.

TensorFlow can check every operation, at a price that no training should pay, and not
under XLA. Here it checks one step, by itself, after a bad number was found.
"""

import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import tensorflow as tf

from tb_health_plugin.recording.traces import innermost_user_frame, is_library

# How TensorFlow words what it found, and the frames below it.
_OPERATION = re.compile(r'Detected Infinity or NaN in output \d+ of .*op "([^"]+)"')
_FRAME = re.compile(r"^\s*(?:->)?\s*\+ (.+) \(L(\d+)\) ", re.MULTILINE)
# Deep enough for a model within models.
_FRAMES = 200
_PATH_LETTERS = 1_000


def bad_operation(
    step: Callable[[Any], Any],
    good: Any,
    bad: Any,
    *,
    put_back: Callable[[], None],
    is_eager: bool,
) -> str | None:
    """Names the operation, such as "Log at train.py:12"; None if it is not found.

    Args:
        step: Runs a step on a batch, without training; traced here unless `is_eager`.
        good: A batch that gave good numbers with the same weights, or nearly; None if
            there is none. Where even that one has infinities, as masks have, nothing
            can be told.
        bad: The one that gave a bad number.
        put_back: Undoes what a step has changed.
        is_eager: Steps of this model run as plain Python.
    """
    checked = step
    if not is_eager:
        checked = tf.function(tf.autograph.experimental.do_not_convert(step))
    try:
        tf.debugging.enable_check_numerics(_FRAMES, _PATH_LETTERS)
        if good is not None and _said(checked, good, put_back):
            return None
        return named(_said(checked, bad, put_back))
    finally:
        tf.debugging.disable_check_numerics()


def named(said: str) -> str | None:
    """The operation out of TensorFlow's words."""
    operation = _OPERATION.search(said)
    if operation is None:
        return None
    own = [frame for frame in _FRAME.findall(said) if not is_library(frame[0])]
    if not own:
        return operation[1]
    file, line = own[-1]
    return f"{operation[1]} at {Path(file).name}:{line}"


def _line(trace: TracebackType | None) -> str:
    """Where an eager operation was called, in TensorFlow's own words for a frame."""
    frame = innermost_user_frame(trace)
    if frame is None or is_library(frame.filename):
        return ""
    return f"\n  + {frame.filename} (L{frame.lineno}) {frame.name}"


def _said(checked: Any, batch: Any, put_back: Callable[[], None]) -> str:
    try:
        checked(batch)
    except tf.errors.InvalidArgumentError as error:
        return f"{error.message}{_line(error.__traceback__)}"
    finally:
        put_back()
    return ""
