"""Names the cause of an exception: what was raised, by whom, and what to change."""

import dataclasses

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions import (
    code,
    data,
    gpu,
    gradients,
    labels,
    leaving,
    limits,
    memory,
    numbers,
    peers,
    saving,
    shapes,
)
from tb_health_plugin.diagnosis.exceptions.raised import Raised

# Asked in this order. What the system refused is the cause wherever it struck; then
# whose code it was; then what it was about.
_CAUSES = (
    leaving.left,
    limits.disk,
    limits.handles,
    memory.refused,
    gpu.failed,
    peers.lost,
    numbers.not_finite,
    gradients.missing,
    saving.failed,
    code.in_callback,
    labels.out_of_range,
    shapes.do_not_fit,
    data.ended,
    data.failed,
)


def explain(raised: Raised) -> Ending:
    """The cause of an exception, as far as its words tell."""
    found = _named(raised)
    if raised.is_whole or found.verdict.confidence != "proven":
        return found
    # What it is and what it says decide the cause: without them none is proven.
    weaker = dataclasses.replace(found.verdict, confidence="likely")
    return dataclasses.replace(found, verdict=weaker)


def _named(raised: Raised) -> Ending:
    for cause in _CAUSES:
        found = cause(raised)
        if found is not None:
            return found
    return code.anywhere(raised)
