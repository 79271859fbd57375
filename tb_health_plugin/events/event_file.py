"""Appends events to one file. No TensorFlow and no buffer: appended is handed over.

One writer per file, and a file is never opened again to append: a partial record
followed by whole ones stops every other reader for good.
"""

import os
from pathlib import Path

from google.protobuf.message import Message
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_health_plugin.events import codec, facts
from tb_health_plugin.events.framing import frame
from tb_health_plugin.events.spare_room import reserve


def encode_event(summary: Summary, wall_time: float, step: int = 0) -> bytes:
    """An event as it lies in a file, without its framing.

    Raises:
        ValueError: `wall_time` is not a time.
    """
    wall_time = codec.check_wall_time(wall_time)
    event = Event(wall_time=wall_time, step=step, summary=summary)
    data: bytes = event.SerializeToString()
    return data


def encode_fact(fact: facts.Fact) -> bytes:
    return encode_event(codec.fact_summary(fact), fact.wall_time, fact.step)


class EventFile:
    """A new file of events.

    Args:
        path: Where to make it. There must be no file yet.
        now: The time of its first record.
        spare_bytes: Room to keep ahead, for what must be written to a full disk.
    """

    def __init__(self, path: Path, *, now: float, spare_bytes: int = 0) -> None:
        self.path = path
        self._spare_bytes = spare_bytes
        self._reserved = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._fd = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
        self._size = 0
        self.append_raw(
            Event(wall_time=now, file_version="brain.Event:2").SerializeToString()
        )

    def append(
        self, summary: Summary, *, wall_time: float, step: int = 0, sync: bool = False
    ) -> None:
        """Appends one event.

        Args:
            summary: What it holds.
            wall_time: Seconds since the epoch.
            step: Training steps finished by then.
            sync: Wait until the disk has it. Costs milliseconds: for the facts
                that must survive a loss of power.

        Raises:
            ValueError: `wall_time` is not a time.
            OSError: The disk is full, the directory is gone, or the like.
        """
        self.append_raw(encode_event(summary, wall_time, step), sync=sync)

    def append_fact(self, fact: facts.Fact, *, sync: bool = False) -> None:
        self.append_raw(encode_fact(fact), sync=sync)

    def append_record(self, tag: str, message: Message, *, wall_time: float) -> None:
        self.append(codec.record_summary(tag, message), wall_time=wall_time)

    def append_raw(self, event: bytes, *, sync: bool = False) -> None:
        """Appends an encoded event; a half-written one is taken back."""
        data = frame(event)
        self._keep_room(len(data))
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            if written:
                # This gives reserved room away, too.
                os.ftruncate(self._fd, self._size)
                self._reserved = 0
            raise
        self._size += written
        if sync:
            os.fsync(self._fd)

    def close(self) -> None:
        try:
            if self._reserved > self._size:
                os.ftruncate(self._fd, self._size)
        finally:
            os.close(self._fd)

    def _keep_room(self, coming: int) -> None:
        """Half of the spare room is left at any time, and then it is made whole."""
        ahead = self._reserved - self._size - coming
        if self._spare_bytes and ahead < self._spare_bytes // 2:
            length = self._spare_bytes + coming
            if reserve(self._fd, self._size, length):
                self._reserved = self._size + length
            elif not self._reserved:
                # The system cannot do it here: it need not be asked again.
                self._spare_bytes = 0
