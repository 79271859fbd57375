"""Follows the directory of one attempt: its files of facts and of samples."""

import os
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.reading.record_reader import RecordReader
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.sample_reader import SampleReader


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read as a whole.

    Attributes:
        file: The file.
        message: What is wrong with it, in one sentence.
    """

    file: Path
    message: str


# The recorder makes none. One that somebody else made could lead anywhere.
_IS_A_LINK = "is a link, and is not followed: put the file itself there"


class AttemptReader:
    """Keeps an `Attempt` up to date with its files."""

    def __init__(self, directory: Path, *, late_seconds: float = 0.0) -> None:
        self.attempt = Attempt(directory.name)
        self.attempt.late_seconds = late_seconds
        self._directory = directory
        self._readers: dict[str, RecordReader | SampleReader] = {}
        self._sizes: dict[str, int] = {}
        self._links: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Reads what is new; true if anything was."""
        sizes = self._list()
        changed = sizes != self._sizes
        if not changed:
            return False
        self._sizes = sizes
        for name in sorted(sizes):
            self._read(name)
        return True

    @property
    def problems(self) -> list[Problem]:
        found = [Problem(self._directory / name, _IS_A_LINK) for name in self._links]
        for reader in self._readers.values():
            for message in _messages(reader):
                found.append(Problem(reader.path, message))
        return found

    def _list(self) -> dict[str, int]:
        try:
            with os.scandir(self._directory) as entries:
                ours = [entry for entry in entries if FileName.parse(entry.name)]
            self._links = tuple(sorted(e.name for e in ours if e.is_symlink()))
            return {
                entry.name: entry.stat().st_size
                for entry in ours
                if entry.is_file(follow_symlinks=False)
            }
        except OSError:
            # Vanished or not ours to read: what was read of it stays known.
            return self._sizes

    def _read(self, name: str) -> None:
        kind = FileName.parse(name)
        assert kind is not None
        reader = self._readers.get(name)
        if reader is None:
            path = self._directory / name
            reader = (
                RecordReader(path) if kind.kind == "records" else SampleReader(path)
            )
            self._readers[name] = reader
        if isinstance(reader, RecordReader):
            for fact in reader.read():
                self.attempt.add(fact)
        else:
            reader.read_into(self.attempt.samples)
            self.attempt.period_seconds = (
                reader.period_seconds or self.attempt.period_seconds
            )


def _messages(reader: RecordReader | SampleReader) -> list[str]:
    messages = []
    if reader.problem:
        messages.append(f"cannot be read: {reader.problem}")
    if reader.damaged == 1:
        messages.append("1 damaged record was skipped")
    elif reader.damaged:
        messages.append(f"{reader.damaged:,} damaged records were skipped")
    if reader.restarts:
        messages.append("became shorter while it was read: somebody cut or replaced it")
    if reader.newer:
        messages.append(
            "was written by a newer version of Training Health and is not shown in "
            "full: update tensorboard-plugin-health"
        )
    return messages
