"""The lines that go through the data of a training without the training."""

from collections.abc import Mapping
from dataclasses import replace

from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts

_WHAT = "  # what fit() was given"


def looped(fix: Fix, begun: facts.TrainingStarted | None) -> Fix:
    """The advice with that loop, to look at data that does not come."""
    why = f"{fix.why} Without a training the data should stop at the same batch."
    return replace(fix, why=why, code=loop(begun.settings if begun else {}))


def loop(settings: Mapping[str, str]) -> str:
    """Says the number of each batch that could be made.

    Args:
        settings: Of the training.
    """
    if settings.get("data.kind") == "PyDataset":
        head = f"for number in range(len(data)):{_WHAT}"
        return f"{head}\n    data[number]\n    print(number)"
    return f"for number, batch in enumerate(data):{_WHAT}\n    print(number)"
