"""What no other word fits: an error in a callback, or in any other code."""

import re

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.debugging import (
    code_there,
    values_there,
)
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.events import facts

_INDEX = r"indices\[[\d, ]*\] = (?P<value>-?\d+) is not in \[0, (?P<size>\d+)\)"
# As Keras words it. Such a callback never came to do its work.
REFUSED_MONITOR = r"callback received monitor=(?P<metric>[\w/.-]+?),? "
_NODE = re.compile(r"Detected at node '?\"?([\w/.-]+)")


def in_callback(raised: Raised) -> Ending | None:
    """A callback raised; None if it was not one."""
    named = re.match(r"(\w+) callback received ", raised.message)
    if not raised.in_callback and not named:
        return None
    name = raised.callback or (named[1] if named else None)
    who = f"The callback {name}" if name else "A callback"
    line = raised.line_words or "the line in the traceback"
    return failure(
        raised,
        id="callback_error",
        detail=raised.name,
        headline=f"{who} raised {raised.name} {raised.where}",
        because="fit() was running this callback when the exception came.",
        evidence=(*raised.evidence(), *_logs(raised)),
        fixes=(
            *_log_fix(raised),
            *_monitor_fix(raised),
            Fix(
                title=f"Mend {line}",
                why=f"It said: {_said(raised)} An exception in a callback ends the "
                "training, even if the callback only reports.",
                code=code_there(raised),
            ),
            *values_there(raised),
        ),
        chip="Callback error",
    )


def _said(raised: Raised) -> str:
    said = raised.in_short.rstrip(".")
    return said if said.endswith("…") else f"{said}."


def metrics(raised: Raised) -> list[str]:
    """Names of the metrics that the logs of the last epoch had."""
    last = raised.attempt.last(facts.EpochEnded)
    return sorted(last.metrics) if last else []


def _wants_a_log(raised: Raised) -> bool:
    """It asked for a metric by a name that the logs do not have."""
    if not (raised.function or "").startswith("on_") and "logs" not in raised.text:
        return False
    return raised.name == "KeyError" or "NoneType" in raised.message


def _logs(raised: Raised) -> tuple[Evidence, ...]:
    found = metrics(raised)
    if not found or not _wants_a_log(raised):
        return ()
    text = f"The logs of an epoch have {names(found, 6)}."
    return (Evidence(text=text, strong=False, at=raised.at),)


def _log_fix(raised: Raised) -> tuple[Fix, ...]:
    found = metrics(raised)
    if not found or not _wants_a_log(raised):
        return ()
    asked = raised.message.strip("'\"") if raised.name == "KeyError" else None
    what = f"There is no {asked!r}. " if asked else ""
    return (
        Fix(
            title="Use a name that the logs have",
            why=f"{what}They have {names(found, 6)}.",
            code=f'logs["{nearest(asked, found)}"]',
        ),
    )


def _monitor_fix(raised: Raised) -> tuple[Fix, ...]:
    """It could not watch a metric: there is none of that name, or no direction."""
    watched = re.search(REFUSED_MONITOR, raised.message)
    found = metrics(raised)
    if not watched or not found:
        return ()
    metric = watched["metric"]
    if metric in found:
        return (
            Fix(
                title=f"Say whether a higher {metric} is better",
                why="Keras cannot tell it from the name.",
                code=f'monitor="{metric}", mode="max"  # or "min"',
            ),
        )
    if metric.startswith("val_") and not any(n.startswith("val_") for n in found):
        missing = " There was no validation."
    else:
        missing = ""
    return (
        Fix(
            title="Watch a metric that the logs have",
            why=f"There is no {metric!r}. They have {names(found, 6)}.{missing}",
            code=f'monitor="{nearest(metric, found)}"',
        ),
    )


def nearest(asked: str | None, found: list[str]) -> str:
    """The name that begins alike, else the first one that is no loss."""
    for name in found:
        if asked and name.startswith(asked[:3]):
            return name
    return next((name for name in found if "loss" not in name), found[0])


def anywhere(raised: Raised) -> Ending:
    """Any other exception."""
    index = raised.find(_INDEX)
    if index is not None:
        return _index(raised, int(index["value"]), int(index["size"]))
    return failure(
        raised,
        id="code_error",
        detail=raised.name,
        headline=f"Stopped by {raised.name} {raised.where}",
        because="Python reported the exception as it ended the training.",
        fixes=(
            Fix(
                title=f"Begin at {raised.line_words}"
                if raised.line_words
                else "Read the traceback below",
                why=f"It said: {_said(raised)}",
                code=code_there(raised),
            ),
            *values_there(raised),
        ),
        chip="Error",
    )


def _index(raised: Raised, value: int, size: int) -> Ending:
    """A table was asked for a row that it does not have."""
    node = _NODE.search(raised.whole)
    layer = node[1].split("/")[-2] if node and "/" in node[1] else None
    place = raised.place
    if layer:
        place["layer"] = layer
    what = f"The table of {layer}" if layer else "A table"
    return failure(
        raised,
        id="code_error",
        detail="index_out_of_range",
        headline=f"{what} has {size:,} rows; the data asked for row {value:,}",
        because="The look-up refused the number and named it.",
        place=place,
        fixes=(
            Fix(
                title="Make the table as long as the highest number, plus one",
                why=f"Numbers 0 to {size - 1:,} fit; {value:,} came.",
                code=f"keras.layers.Embedding({max(value, size) + 1}, dimension)",
            ),
        ),
        chip="Index out of range",
    )
