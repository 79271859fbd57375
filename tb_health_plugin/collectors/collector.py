"""What a collector is. The schedule runs it, times it and counts its failures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class SourceUnavailable(Exception):
    """This machine does not offer what the collector reads; not an error."""


class Collector(Protocol):
    """Takes one reading of one source, without blocking and without TensorFlow.

    Args:
        pid: The process that trains.
        root: Stands in for `/` in tests.

    Attributes:
        what: The source, in words a user knows.
        columns: Names out of `events/columns.py` that a reading fills.

    Raises:
        SourceUnavailable: This machine does not offer the source.
    """

    what: str
    columns: tuple[str, ...]

    def __init__(self, pid: int, *, root: Path = ...) -> None: ...

    def collect(self) -> Mapping[str, float]:
        """The numbers of this moment. A column left out is not measured now."""
        ...
