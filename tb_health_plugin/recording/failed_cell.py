"""What is told of a cell of a notebook that failed while no training was under way.

Keras checks data and model before it calls any callback. What it refuses then ends the
cell, and nobody hears of it but the notebook; a script would end, and be told by that.
"""

from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.process_end import ProcessEnd

# The rest of a message is in the notebook.
_LONGEST_MESSAGE = 200


def passed_fit(trace: TracebackType | None, is_ours: Callable[[Any], bool]) -> bool:
    """True if it came out of a `fit` that one of our callbacks was given to."""
    while trace is not None:
        given = _given_to_fit(trace.tb_frame)
        if any(is_ours(one) for value in given for one in _each(value)):
            return True
        trace = trace.tb_next
    return False


def _given_to_fit(frame: FrameType) -> list[Any]:
    """What `fit` was called with, if this is its frame or that of what calls it."""
    seen = frame.f_locals
    if frame.f_code.co_name == "fit":
        return [seen.get("callbacks")]
    # Keras takes its own frames out of a traceback, but for the one around `fit`.
    named = seen.get("kwargs")
    if getattr(seen.get("fn"), "__name__", "") != "fit" or not isinstance(named, dict):
        return []
    return [named.get("callbacks"), *seen.get("args", ())]


def _each(value: Any) -> list[Any]:
    """The callbacks of a list, of Keras' own kind of list, or the only one."""
    if isinstance(value, list | tuple):
        return list(value)
    listed = getattr(value, "callbacks", None)
    return listed if isinstance(listed, list) else [value]


def refused_fit(end: ProcessEnd, *, training: int, step: int) -> list[facts.Fact]:
    """A training that ended as it began."""
    started = facts.TrainingStarted(
        wall_time=end.happened_at,
        step=step,
        training=training,
        first_step=step,
        loop="fit",
    )
    ended = facts.TrainingEnded(
        wall_time=end.happened_at,
        step=step,
        training=training,
        last_step=step,
        epochs_done=0,
        reason="raised",
        exception=end.exception,
        message=end.message,
        text=end.text,
        file=end.file,
        line=end.line,
        function=end.function,
        during="other",
    )
    return [started, ended]


def before_training(end: ProcessEnd, *, step: int) -> facts.Fact:
    """A cell that failed before any training began, and was not about one."""
    said = f"{end.exception}: {end.message}" if end.message else str(end.exception)
    first = said.strip().split("\n", 1)[0][:_LONGEST_MESSAGE]
    return facts.Incident(
        wall_time=end.happened_at,
        step=step,
        kind="cell_failed",
        severity="info",
        message=f"A cell of the notebook ended with {first}",
    )
