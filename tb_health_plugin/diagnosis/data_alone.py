"""The lines that go through the data of a training without the training."""

from collections.abc import Mapping

_WHAT = "  # what fit() was given"


def loop(settings: Mapping[str, str]) -> str:
    """Says the number of each batch that could be made.

    Args:
        settings: Of the training.
    """
    if settings.get("data.kind") == "PyDataset":
        head = f"for number in range(len(data)):{_WHAT}"
        return f"{head}\n    data[number]\n    print(number)"
    return f"for number, batch in enumerate(data):{_WHAT}\n    print(number)"
