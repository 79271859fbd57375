"""Reads a file of samples as one array, and goes on where it stopped.

All records of such a file have the same length and the same bytes around their
numbers, so a stretch of them is checked and taken as a matrix. Where a record is
damaged, the slow way of `events/framing.py` finds the next whole one.
"""

import struct
from pathlib import Path

import google_crc32c
import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event

from tb_health_plugin.events import codec, tags
from tb_health_plugin.events.framing import HEADER, masked_crc, whole_records
from tb_health_plugin.events.sample_file import SampleShape, parse_head
from tb_health_plugin.events.tail import Tail
from tb_health_plugin.reading.table import TIME, Table

_MASK_DELTA = 0xA282EAD8
# So many records are looked at in one go after damage, and twice as many each time that
# all of them are good: damage in every second record must not cost a look at all that
# follow.
FEWEST_AHEAD, MOST_AHEAD = 16, 1 << 16


class SampleReader:
    """Follows one file of samples.

    Attributes:
        period_seconds: Time between two samples as planned; 0 until known.
        newer: The file was written by a later version and cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._columns: tuple[str, ...] = ()
        self._shape: SampleShape | None = None
        self._same: npt.NDArray[np.bool_] | None = None
        self._expected: npt.NDArray[np.uint8] | None = None
        self._ahead = FEWEST_AHEAD
        self.period_seconds = 0.0
        self.newer = False

    @property
    def path(self) -> Path:
        return self._tail.path

    @property
    def damaged(self) -> int:
        return self._tail.scan.damaged

    @property
    def problem(self) -> str:
        return self._tail.problem

    @property
    def restarts(self) -> int:
        return self._tail.restarts

    def read_into(self, table: Table) -> None:
        """Appends the samples that became whole since the last call."""
        if self.newer:
            return
        for chunk in self._tail.chunks():
            self._tail.offset += self._read_chunk(chunk, table)

    def _read_chunk(self, chunk: bytes, table: Table) -> int:
        position = 0
        while position < len(chunk) and not self.newer:
            if self._shape is not None:
                rows = self._good_rows(chunk, position)
                if len(rows):
                    self._tail.scan.in_damage = False
                    self._append(rows, table)
                    position += rows.size
                    continue
            used = self._read_slowly(chunk, position, table)
            if not used:
                break
            position += used
        return position

    def _good_rows(self, chunk: bytes, position: int) -> npt.NDArray[np.uint8]:
        """Whole, undamaged records that follow each other from `position`."""
        assert self._shape is not None
        size = self._shape.record_bytes
        count = min((len(chunk) - position) // size, self._ahead)
        rows = np.frombuffer(chunk, np.uint8, count * size, position)
        rows = rows.reshape(count, size)
        wrong = (rows != self._expected) & self._same
        good = self._leading_with_right_crc(rows[: _leading(~wrong.any(axis=1))])
        more = min(2 * self._ahead, MOST_AHEAD)
        self._ahead = more if good == count else FEWEST_AHEAD
        return rows[:good]

    def _leading_with_right_crc(self, rows: npt.NDArray[np.uint8]) -> int:
        stored = rows[:, -4:].copy().view("<u4")[:, 0].tolist()
        data = np.ascontiguousarray(rows[:, HEADER.size : -4])
        value = google_crc32c.value
        for index, (row, crc) in enumerate(zip(data, stored, strict=True)):
            crc_of_row = value(row.tobytes())
            rotated = (crc_of_row >> 15) | (crc_of_row << 17)
            if (rotated + _MASK_DELTA) & 0xFFFFFFFF != crc:
                return index
        return len(rows)

    def _append(self, rows: npt.NDArray[np.uint8], table: Table) -> None:
        assert self._shape is not None
        at = HEADER.size + self._shape.time_at
        times = rows[:, at : at + 8].copy().view("<f8")[:, 0]
        at = HEADER.size + self._shape.values_at
        width = 8 * len(self._columns)
        values = rows[:, at : at + width].copy().view("<f8")
        usable = (times >= 0) & (times <= codec.LATEST_TIME)
        by_column = {TIME: times[usable]}
        for index, name in enumerate(self._columns):
            by_column[name] = values[usable, index]
        table.append(by_column)

    def _read_slowly(self, chunk: bytes, position: int, table: Table) -> int:
        """Reads the head, or one record after damage; returns the bytes used."""
        for record in whole_records(memoryview(chunk)[position:], self._tail.scan):
            self._read_event(bytes(record), table)
            break
        return self._tail.scan.consumed

    def _read_event(self, data: bytes, table: Table) -> None:
        try:
            event = Event.FromString(data)
        except DecodeError:
            self._tail.scan.damaged += 1
            return
        for value in event.summary.value:
            if value.tag == tags.SAMPLES_STARTED and self._shape is None:
                self._begin(b"".join(value.tensor.string_val[:1]))
            elif not codec.is_time(event.wall_time):
                self._tail.scan.damaged += 1
            elif value.tag == tags.SAMPLES and self._shape is not None:
                content = value.tensor.tensor_content
                if len(content) == 8 * len(self._columns):
                    numbers = struct.unpack(f"<{len(self._columns)}d", content)
                    row = {n: [x] for n, x in zip(self._columns, numbers, strict=True)}
                    table.append({TIME: [event.wall_time], **row})

    def _begin(self, head: bytes) -> None:
        try:
            self._columns, self.period_seconds = parse_head(head)
        except codec.NewerFormat:
            self.newer = True
            return
        except codec.UnknownRecord:
            self._tail.scan.damaged += 1
            return
        self._shape = SampleShape(len(self._columns))
        self._expected, self._same = _pattern(self._shape)


def _pattern(
    shape: SampleShape,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """The bytes of a framed sample, and which of them are the same in every one."""
    length = struct.pack("<Q", len(shape.template))
    framed = length + struct.pack("<I", masked_crc(length)) + shape.template + bytes(4)
    same = np.ones(len(framed), np.bool_)
    same[-4:] = False
    for at, size in ((shape.time_at, 8), (shape.values_at, 8 * shape.columns)):
        same[HEADER.size + at : HEADER.size + at + size] = False
    return np.frombuffer(framed, np.uint8), same


def _leading(good: npt.NDArray[np.bool_]) -> int:
    """How many leading entries are true."""
    bad = np.flatnonzero(~good)
    return int(bad[0]) if len(bad) else len(good)
