"""Memory that outlives the trainer: how facts get from it to whoever writes them.

The trainer maps a file without a name and writes progress and facts into it. The
watcher holds the same file open, so that what was written is still there when the
trainer is killed in the middle of a step. Nothing is left behind when both are gone,
and nobody else can open it.

One process writes facts and one takes them out. Records carry a checksum, so that a
record that was half written when the trainer died is not taken for a whole one.
"""

import mmap
import os
import struct
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.writing.phases import Phase

_MAGIC = b"TBHEALTH"
_VERSION = 1

# Layout: a head, two slots for progress, the terms, a complaint, two slots for the tail
# of the log, the ring of facts.
_HEAD = struct.Struct("<8sII")
_WRITTEN_AT, _TAKEN_AT, _DROPPED_AT = 16, 24, 32
_OWNER_AT, _BEAT_AT = 40, 48
_PROGRESS_AT, _PROGRESS_BYTES = 128, 128
_TERMS_AT, _TERMS_BYTES = 4_096, 60 << 10
_COMPLAINT_AT, _COMPLAINT_BYTES = 64 << 10, 4 << 10
_LOG_AT, _LOG_BYTES = _COMPLAINT_AT + _COMPLAINT_BYTES, 6 << 10
_RING_AT = _LOG_AT + 2 * _LOG_BYTES
# Facts wait here for a second at most; a thousand of them fit.
RING_BYTES = 1 << 20
_SIZE = _RING_AT + RING_BYTES

_COUNT = struct.Struct("<Q")
_SECONDS = struct.Struct("<d")
_PROGRESS = struct.Struct("<QqdddddqQ")
_RECORD = struct.Struct("<II")

# Who takes facts out and writes them. RELEASED: nobody any more, the story is told.
WATCHER, THREAD, RELEASED = 1, 2, 3


@dataclass(slots=True)
class Progress:
    """Where the training stands, as the trainer last said.

    Attributes:
        step: Steps of this attempt finished.
        epoch: Epoch under way, counted from 0; NOT_MEASURED before the first.
        loss: Loss of the epoch so far; NOT_MEASURED before the first.
        beat_at: When something of the loop last went on, by the monotonic clock.
        phase_since: When the phase began, by the monotonic clock.
        wait_seconds: Time spent waiting for data so far; NOT_MEASURED if unknown.
        phase: One of the phases of `writing/phases.py`.
        beats: How often something of the loop went on.
    """

    step: int
    epoch: float
    loss: float
    beat_at: float
    phase_since: float
    wait_seconds: float
    phase: int
    beats: int

    @classmethod
    def at_start(cls, now: float) -> "Progress":
        """Of a trainer that has not begun anything yet."""
        return cls(
            step=0,
            epoch=NOT_MEASURED,
            loss=NOT_MEASURED,
            beat_at=now,
            phase_since=now,
            wait_seconds=NOT_MEASURED,
            phase=Phase.NOT_TRAINING,
            beats=0,
        )


class BlackBox:
    """The mapped memory, seen from either side.

    Args:
        fd: A file made by `make_file`. Stays open as long as the box.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._map = mmap.mmap(fd, _SIZE)
        self._lock = threading.Lock()
        self._sequence = 0
        self._log_slot = 0
        if bytes(self._map[:8]) == bytes(8):
            _HEAD.pack_into(self._map, 0, _MAGIC, _VERSION, os.getpid())
        magic, version, self.trainer_pid = _HEAD.unpack_from(self._map, 0)
        if magic != _MAGIC or version != _VERSION:
            raise ValueError("this file is no black box of this version")
        # A sweep makes one per trial: none may stay open when nobody needs it.
        self._close_file = weakref.finalize(self, os.close, fd)
        self._close_file.atexit = False

    # The trainer's side

    def set_progress(self, progress: Progress) -> None:
        """Publishes where the training stands. Costs about a microsecond."""
        self._sequence += 1
        # The slots take turns: one of them is always whole.
        slot = _PROGRESS_AT + _PROGRESS_BYTES * (self._sequence % 2)
        _COUNT.pack_into(self._map, slot + _PROGRESS.size, 0)
        _PROGRESS.pack_into(
            self._map,
            slot,
            self._sequence,
            progress.step,
            progress.epoch,
            progress.loss,
            progress.beat_at,
            progress.phase_since,
            progress.wait_seconds,
            progress.phase,
            progress.beats,
        )
        _COUNT.pack_into(self._map, slot + _PROGRESS.size, self._sequence)

    def put(self, record: bytes) -> bool:
        """Hands a record over; False if there is no room for it just now."""
        needed = _RECORD.size + len(record)
        with self._lock:
            written = self._count(_WRITTEN_AT)
            if written - self._count(_TAKEN_AT) + needed > RING_BYTES:
                self._set_count(_DROPPED_AT, self._count(_DROPPED_AT) + 1)
                return False
            head = _RECORD.pack(len(record), zlib.crc32(record))
            self._write_ring(written, head + record)
            self._set_count(_WRITTEN_AT, written + needed)
        return True

    def set_terms(self, terms: bytes) -> None:
        """Tells the writer what to write, and where; once, before it starts."""
        self._set_text(_TERMS_AT, _TERMS_BYTES, terms)

    def set_log_tail(self, lines: bytes) -> None:
        """Keeps the last lines of the log; too long ones are cut at their start."""
        # The slots take turns. The older one is emptied last: one is always whole.
        self._log_slot = 1 - self._log_slot
        at = _LOG_AT + _LOG_BYTES * self._log_slot
        self._set_text(at, _LOG_BYTES, lines[-(_LOG_BYTES - _RECORD.size) :])
        other = _LOG_AT + _LOG_BYTES * (1 - self._log_slot)
        _RECORD.pack_into(self._map, other, 0, 0)

    def complaint(self) -> str:
        """What the writer has to say to a person; empty if nothing."""
        return self._text(_COMPLAINT_AT, _COMPLAINT_BYTES).decode("utf-8", "replace")

    # The writer's side

    def progress(self) -> Progress | None:
        """The newest whole progress; None before the first."""
        found: list[tuple[int, Progress]] = []
        for slot in (_PROGRESS_AT, _PROGRESS_AT + _PROGRESS_BYTES):
            sequence, *values = _PROGRESS.unpack_from(self._map, slot)
            (confirmed,) = _COUNT.unpack_from(self._map, slot + _PROGRESS.size)
            if sequence and sequence == confirmed:
                found.append((sequence, Progress(*values)))
        return max(found, key=lambda one: one[0])[1] if found else None

    def take(self) -> Iterator[bytes]:
        """The records handed over since the last call."""
        taken = self._count(_TAKEN_AT)
        written = self._count(_WRITTEN_AT)
        while taken < written:
            length, crc = _RECORD.unpack(self._read_ring(taken, _RECORD.size))
            if length > written - taken - _RECORD.size:
                # Not what the trainer wrote: give the rest up rather than loop.
                self._set_count(_TAKEN_AT, written)
                return
            record = self._read_ring(taken + _RECORD.size, length)
            taken += _RECORD.size + length
            self._set_count(_TAKEN_AT, taken)
            if zlib.crc32(record) == crc:
                yield record

    @property
    def is_empty(self) -> bool:
        """All that was handed over has been taken."""
        return self._count(_TAKEN_AT) >= self._count(_WRITTEN_AT)

    def terms(self) -> bytes:
        return self._text(_TERMS_AT, _TERMS_BYTES)

    def log_tail(self) -> str:
        """The last lines of the program's log; empty if there were none."""
        slots = (_LOG_AT, _LOG_AT + _LOG_BYTES)
        texts = [self._text(at, _LOG_BYTES) for at in slots]
        return max(texts, key=len).decode("utf-8", "replace")

    def complain(self, text: str) -> None:
        """Has the trainer say something in the user's log."""
        data = text.encode("utf-8", "replace")[: _COMPLAINT_BYTES - _RECORD.size]
        self._set_text(_COMPLAINT_AT, _COMPLAINT_BYTES, data)

    @property
    def dropped(self) -> int:
        """Records for which there was no room."""
        return self._count(_DROPPED_AT)

    @property
    def owner(self) -> int:
        """Who writes: 0 (nobody yet), WATCHER, THREAD or RELEASED."""
        return self._count(_OWNER_AT)

    @owner.setter
    def owner(self, owner: int) -> None:
        self._set_count(_OWNER_AT, owner)

    @property
    def watcher_beat_at(self) -> float:
        """When the watcher last went on, by the monotonic clock; 0 before that."""
        (seconds,) = _SECONDS.unpack_from(self._map, _BEAT_AT)
        return float(seconds)

    @watcher_beat_at.setter
    def watcher_beat_at(self, seconds: float) -> None:
        _SECONDS.pack_into(self._map, _BEAT_AT, seconds)

    def close(self) -> None:
        self._map.close()
        self._close_file()

    def _set_text(self, at: int, room: int, text: bytes) -> None:
        if len(text) > room - _RECORD.size:
            raise ValueError(f"{len(text)} bytes do not fit into {room}")
        start = at + _RECORD.size
        self._map[start : start + len(text)] = text
        _RECORD.pack_into(self._map, at, len(text), zlib.crc32(text))

    def _text(self, at: int, room: int) -> bytes:
        length, crc = _RECORD.unpack_from(self._map, at)
        if not 0 < length <= room - _RECORD.size:
            return b""
        text = bytes(self._map[at + _RECORD.size : at + _RECORD.size + length])
        return text if zlib.crc32(text) == crc else b""

    def _count(self, at: int) -> int:
        (value,) = _COUNT.unpack_from(self._map, at)
        return int(value)

    def _set_count(self, at: int, value: int) -> None:
        _COUNT.pack_into(self._map, at, value)

    def _write_ring(self, position: int, data: bytes) -> None:
        start = position % RING_BYTES
        first = min(len(data), RING_BYTES - start)
        self._map[_RING_AT + start : _RING_AT + start + first] = data[:first]
        self._map[_RING_AT : _RING_AT + len(data) - first] = data[first:]

    def _read_ring(self, position: int, length: int) -> bytes:
        start = position % RING_BYTES
        first = min(length, RING_BYTES - start)
        head = self._map[_RING_AT + start : _RING_AT + start + first]
        return bytes(head + self._map[_RING_AT : _RING_AT + length - first])


def make_file() -> int:
    """A file without a name, large enough for a box; only its descriptor opens it."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("training-health")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, _SIZE)
    return fd
