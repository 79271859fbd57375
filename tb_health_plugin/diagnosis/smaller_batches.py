"""How many rows a batch has, and the advice to use fewer, with the number to set."""

import re

from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

_FOLLOWS = "What a step holds shrinks with it; the learning rate may have to follow."
# The rows of a tensor that a pipeline gives out, as in "float32[32, 8]".
_ROWS = re.compile(r"\[(\d+)[,\]]")


def halved(attempt: Attempt) -> Fix:
    """For the newest training: by its setting, else by its batches as they were."""
    rows = batch_rows(attempt)
    if rows is None or rows < 2:
        return Fix(title="Make batches smaller", why=_FOLLOWS)
    return Fix(
        title="Halve the batch size",
        why=f"A batch has {rows:,} rows now. {_FOLLOWS}",
        code=batched(attempt, rows // 2),
    )


def batched(attempt: Attempt, rows: int) -> str:
    """What sets that many rows, where this training has them set."""
    begun = attempt.last(facts.TrainingStarted)
    kind = begun.settings.get("data.kind") if begun else None
    return (
        f"dataset = dataset.batch({rows})"
        if kind == "tf.data"
        else (f"batch_size={rows}")
    )


def batch_rows(attempt: Attempt) -> int | None:
    """Rows of a batch of the newest training; None if nothing tells."""
    begun = attempt.last(facts.TrainingStarted)
    if begun is None:
        return None
    given = begun.settings.get("batch_size", "")
    if given.isdecimal():
        return int(given)
    elements = _ROWS.search(begun.settings.get("data.elements", ""))
    if elements:
        return int(elements[1])
    for seen in attempt.all(facts.BatchSeen):
        if seen.training == begun.training and seen.fields and seen.fields[0].shape:
            return seen.fields[0].shape[0]
    return None
