"""A check for NaN that struck: TensorFlow's, or the program's own."""

import re

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Confidence, Fix

_CHECKED = r"Tensor had ((?:[+-]?(?:NaN|Inf)(?: and |, )?)+)"
_TRACED = (
    r"Detected Infinity or NaN in output \d+ of (?:eagerly-executed |graph )?op "
    r"\"?(?P<op>\w+)"
)
# How programs word it themselves.
_OWN = (
    r"\b(?:loss|gradients?|grads?|weights?|outputs?|logits|predictions?)\b[^.\n]{0,40}"
    r"\b(?:nan|inf|infinite|non-?finite|not finite)\b"
    r"|\b(?:nan|non-?finite|infinite)\b[^.\n]{0,20}\b(?:loss|gradients?|weights?)\b"
)
_OWN_CLASSES = ("ValueError", "RuntimeError", "AssertionError", "FloatingPointError")
_NODE = re.compile(r"Detected at node '?\"?([\w/.-]+)")


def not_finite(raised: Raised) -> Ending | None:
    """A number was found to be NaN or infinite; None if this is something else."""
    traced = raised.find(_TRACED)
    checked = raised.find(_CHECKED)
    if raised.from_tensorflow and (traced or checked):
        return _ending(raised, traced["op"] if traced else None, "proven")
    if raised.is_a(*_OWN_CLASSES) and raised.find(_OWN):
        return _ending(raised, None, "likely")
    return None


def _ending(raised: Raised, op: str | None, confidence: Confidence) -> Ending:
    node = _NODE.search(raised.whole)
    place = raised.place
    checked = node[1].removesuffix("CheckNumerics").strip("/") if node else None
    if op or checked:
        place["op"] = op or checked or ""
    made_by = f" in {op}" if op else ""
    return failure(
        raised,
        id="nan_op",
        detail=op,
        confidence=confidence,
        headline=f"A check found NaN or infinity{made_by} {raised.where}",
        because="A check of the program's own stopped it at the first one it saw. "
        "Where it began is told by the first operation, not by the check.",
        place=place,
        fixes=(
            Fix(
                title="Find the first operation that made it",
                why="The check names what it was given; the number may come from "
                "further up, or from the data.",
                code="tf.debugging.enable_check_numerics()",
            ),
        ),
        chip="NaN",
    )
