"""What a collector is. The schedule runs it, times it and counts its failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class SourceUnavailable(Exception):
    """This machine does not offer what the collector reads; not an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is watched.

    Attributes:
        pid: The process that trains.
        logdir: Where the run is recorded; None if nowhere yet.
        root: Stands in for `/` in tests.
        visible_gpus: Its `CUDA_VISIBLE_DEVICES`; None if that is not set.
        temp: Where its temporary files go; None: where ours go.
    """

    pid: int
    logdir: Path | None = None
    root: Path = Path("/")
    visible_gpus: str | None = None
    temp: str | None = None


class Collector(Protocol):
    """Takes one reading of one source, without blocking and without TensorFlow.

    Args:
        watched: The process and the machine to read about.

    Attributes:
        what: The source, in words a user knows.
        columns: Names out of `events/columns.py` that a reading fills.

    Raises:
        SourceUnavailable: This machine does not offer the source.
    """

    what: str
    columns: tuple[str, ...]

    def __init__(self, watched: Watched) -> None: ...

    def collect(self) -> Mapping[str, float]:
        """The numbers of this moment. A column left out is not measured now."""
        ...


def measured(**columns: float | None) -> dict[str, float]:
    """A reading without the columns that could not be measured this time."""
    return {name: float(value) for name, value in columns.items() if value is not None}
