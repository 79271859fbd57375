"""Files of samples: one record per moment, all of the same length.

Because every record has the same length and the same bytes around its numbers, a
whole file can be read as one array. The head of the file names the numbers.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_health_plugin.events import codec, tags
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.framing import OVERHEAD_BYTES
from tb_health_plugin.events.messages import message_class

# Bytes that mark a place in an encoded sample; no other byte of it is like them.
_MARK = b"\xa5\x5a\xc3\x3c\x96\x69\xf0\x0e"
_TIME_MARK = b"\x5a\xa5\x3c\xc3\x69\x96\x0f\xe1"

# Sixteen GPUs and everything else are below seven hundred.
MOST_COLUMNS = 4_096


class SampleShape:
    """How an encoded sample of so many columns looks.

    Attributes:
        template: An encoded event with the places of its time and numbers marked.
        time_at: Where in it the time lies, a little-endian double.
        values_at: Where in it the numbers begin, little-endian doubles.
        record_bytes: Its length in a file, framing included.
    """

    def __init__(self, columns: int) -> None:
        mark, time_mark = (struct.unpack("<d", m)[0] for m in (_MARK, _TIME_MARK))
        value = Summary.Value(
            tag=tags.SAMPLES, tensor=codec.doubles([mark] * columns, (columns,))
        )
        event = Event(wall_time=time_mark, summary=Summary(value=[value]))
        self.columns = columns
        self.template = event.SerializeToString()
        self.time_at = self.template.index(_TIME_MARK)
        self.values_at = self.template.index(_MARK)
        self.record_bytes = len(self.template) + OVERHEAD_BYTES

    def encode(self, wall_time: float, values: Sequence[float]) -> bytes:
        event = bytearray(self.template)
        struct.pack_into("<d", event, self.time_at, wall_time)
        struct.pack_into(f"<{self.columns}d", event, self.values_at, *values)
        return bytes(event)


class SampleFile:
    """A new file of samples with these columns.

    Args:
        path: Where to make it. There must be no file yet.
        columns: Names out of `events/columns.py`.
        period_seconds: Time between two samples as planned.
        now: The time of its first record.
    """

    def __init__(
        self, path: Path, columns: Sequence[str], *, period_seconds: float, now: float
    ) -> None:
        self.columns = tuple(columns)
        self._shape = SampleShape(len(self.columns))
        self._file = EventFile(path, now=now)
        head = message_class("SamplesStarted")(
            format_version=tags.FORMAT_VERSION,
            layout=codec.layout(self.columns),
            period_seconds=period_seconds,
        )
        self._file.append_record(tags.SAMPLES_STARTED, head, wall_time=now)

    def append(self, wall_time: float, values: Sequence[float]) -> None:
        """Appends one sample; `NOT_MEASURED` stands where a number is missing."""
        codec.check_wall_time(wall_time)
        self._file.append_raw(self._shape.encode(wall_time, values))

    def close(self) -> None:
        self._file.close()


def parse_head(data: bytes) -> tuple[tuple[str, ...], float]:
    """Columns and period of a `SamplesStarted` message.

    Raises:
        UnknownRecord: Damaged, or of a later format.
    """
    head: Any = codec.parse("SamplesStarted", data)
    codec.check_version(head)
    columns = tuple(column.name for column in head.layout.columns)
    if not columns or not codec.is_time(head.period_seconds):
        raise codec.DamagedRecord("the head of the samples names no columns")
    if len(columns) > MOST_COLUMNS:
        raise codec.DamagedRecord(f"{len(columns):,} columns are none of ours")
    return columns, head.period_seconds
