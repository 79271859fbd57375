"""Reads a file of facts, and goes on where it stopped."""

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event

from tb_health_plugin.events import codec, facts
from tb_health_plugin.events.tail import Tail


class RecordReader:
    """Follows one file of facts.

    Attributes:
        newer: Records of a later format, skipped.
        unknown: Records with a tag that is not ours, skipped.
    """

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._seen: set[int] = set()
        self._undecodable = 0
        self.newer = 0
        self.unknown = 0

    @property
    def path(self) -> Path:
        return self._tail.path

    @property
    def damaged(self) -> int:
        return self._tail.scan.damaged + self._undecodable

    @property
    def problem(self) -> str:
        return self._tail.problem

    @property
    def restarts(self) -> int:
        return self._tail.restarts

    def read(self) -> Iterator[facts.Fact]:
        """The facts that became whole since the last call."""
        for record in self._tail.records():
            # No two facts have the same time and the same words: a copy or a disk
            # wrote this one twice.
            if hash(record) in self._seen:
                continue
            self._seen.add(hash(record))
            try:
                event = Event.FromString(record)
            except DecodeError:
                self._undecodable += 1
                continue
            for value in event.summary.value:
                try:
                    yield codec.decode_value(value, event.wall_time, event.step)
                except codec.NewerFormat:
                    self.newer += 1
                except codec.DamagedRecord:
                    self._undecodable += 1
                except codec.UnknownRecord:
                    self.unknown += 1
