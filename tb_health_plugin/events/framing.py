"""TFRecord framing: how records lie in a file, and how to find them again.

A record is its length (8 bytes), a checksum of the length (4), the data, and a
checksum of the data (4). The checksum is CRC-32C, masked as TensorFlow does.
TensorBoard's own writer would cost the watcher about 20 MiB, hence these lines.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import google_crc32c

HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
OVERHEAD_BYTES = HEADER.size + FOOTER.size

# No record of ours comes near this; a longer one is damage or not for us.
LONGEST_RECORD_BYTES = 64 << 20

_MASK_DELTA = 0xA282EAD8

# Eight bytes that may be the length of a record: not zero, and not too long. Nobody
# writes an empty record, while damage is often a stretch of zeros.
_LENGTH = re.compile(rb"(?!\x00{4})...[\x00-\x04]\x00{4}", re.DOTALL)


def masked_crc(data: bytes | memoryview) -> int:
    crc: int = google_crc32c.value(bytes(data))
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """The bytes that hold `data` in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, FOOTER.pack(masked_crc(length)), data, FOOTER.pack(masked_crc(data)))
    )


@dataclass(slots=True)
class Scan:
    """Where the look at a growing file stands.

    Attributes:
        consumed: Bytes of the last look that were dealt with; the next look begins
            after them.
        damaged: Stretches of bytes skipped so far because they are no records.
        damaged_bytes: How many bytes those were.
        in_damage: The last look ended inside such a stretch.
    """

    consumed: int = 0
    damaged: int = 0
    damaged_bytes: int = 0
    in_damage: bool = False


def whole_records(buffer: bytes | memoryview, scan: Scan) -> Iterator[memoryview]:
    """Yields the data of every whole record, and skips what is damaged.

    The tail that is not yet whole is left alone: it may grow. After damage the
    next record is found by its length checksum, so damage costs one record.
    """
    view = memoryview(buffer)
    position = scan.consumed = 0
    while True:
        state, end = _look(view, position)
        if state == "partial":
            return
        if state == "whole":
            scan.in_damage = False
            scan.consumed = end
            yield view[position + HEADER.size : end - FOOTER.size]
        else:
            scan.damaged += not scan.in_damage
            scan.in_damage = True
            scan.consumed = end = _next_header(view, position + 1)
            scan.damaged_bytes += end - position
        position = end


def _look(view: memoryview, position: int) -> tuple[str, int]:
    if len(view) - position < HEADER.size:
        return "partial", position
    if not _is_header(view, position):
        return "damaged", position
    length, _ = HEADER.unpack_from(view, position)
    end = position + HEADER.size + length + FOOTER.size
    if end > len(view):
        return "partial", position
    (data_crc,) = FOOTER.unpack_from(view, end - FOOTER.size)
    if data_crc != masked_crc(view[position + HEADER.size : end - FOOTER.size]):
        return "damaged", position
    return "whole", end


def _next_header(view: memoryview, position: int) -> int:
    """Where the next record may begin; at worst where a header may yet grow."""
    while found := _LENGTH.search(view, position):
        position = found.start()
        if len(view) - position < HEADER.size or _is_header(view, position):
            return position
        position += 1
    return max(position, len(view) - HEADER.size + 1)


def _is_header(view: memoryview, position: int) -> bool:
    length, length_crc = HEADER.unpack_from(view, position)
    if not 0 < length <= LONGEST_RECORD_BYTES:
        return False
    return bool(length_crc == masked_crc(view[position : position + 8]))
