"""What leads to the line that raised: its code, and a debugger that stops there."""

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts


def code_there(raised: Raised) -> str:
    """Shows the program's line that raised, or stops where the exception is."""
    frame = raised.own_frame
    shown = own_code.shown(frame.file, frame.line) if frame else None
    return shown or own_code.debugged(raised.attempt)


def values_there(raised: Raised) -> tuple[Fix, ...]:
    """To see the values that led to it; nothing if a debugger would not get there."""
    code = own_code.debugged(raised.attempt)
    end = raised.attempt.last(facts.RunEnded)
    was_caught = end is not None and end.reason == "finished"
    if raised.inner is not None or was_caught or code == code_there(raised):
        return ()
    return (
        Fix(
            title="Or stop where it is raised, and look at the values",
            why=_cost(raised),
            code=code,
        ),
    )


def _cost(raised: Raised) -> str:
    if own_code.is_notebook(raised.attempt):
        return "In the next cell; nothing is run again."
    begun, at = raised.attempt.started_at, raised.happened_at
    if begun is None or at is None or at <= begun:
        return "It runs again up to there."
    return f"It runs again up to there: {duration(at - begun)} last time."
