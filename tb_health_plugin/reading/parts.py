"""Which runs of TensorBoard are parts of one training, told by their names."""

import posixpath
from collections import defaultdict
from collections.abc import Collection

# Sub-runs of one training, as Keras and many programs name them.
PARTS = ("train", "training", "validation", "valid", "val", "eval", "test")


def wholes(names: Collection[str]) -> dict[str, str]:
    """The training of each part: Keras writes `run/train` and `run/validation`.

    A name alone is no proof. Only what has another part beside it, or event files of
    its own above it, is taken for a part.

    Args:
        names: Of runs without health data, as TensorBoard names them.
    """
    below: dict[str, list[str]] = defaultdict(list)
    for name in names:
        parent, part = posixpath.split(name)
        if part in PARTS:
            below[parent or "."].append(name)
    return {
        name: whole
        for whole, parts in below.items()
        if len(parts) > 1 or whole in names
        for name in parts
    }


def part_of(name: str, whole: str) -> str:
    """What a part is called within its training; "." for the training itself."""
    return posixpath.relpath(name, whole)
