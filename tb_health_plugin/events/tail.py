"""Follows a file that grows: gives the new bytes, and remembers how far it got."""

import os
from collections.abc import Iterator
from pathlib import Path

from tb_health_plugin.events.framing import LONGEST_RECORD_BYTES, Scan, whole_records

# Bounds the memory of one look; a longer stretch is read in several.
CHUNK_BYTES = 8 << 20
# Where so much is damaged, it is no file of ours, or none worth the time it takes.
MOST_DAMAGED_BYTES = 64 << 20
# A month of training with a thousand layers writes less into one file. Who sends us
# more wants our memory.
MOST_BYTES = 1 << 30


class Tail:
    """Reads on where it stopped.

    Attributes:
        scan: Where the look at its records stands; counts what is damaged.
        problem: Why the file cannot be read just now; empty if it can.
        restarts: How often the file became shorter and was begun anew.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.problem = ""
        self.restarts = 0
        self.scan = Scan()
        self._chunk = CHUNK_BYTES

    def chunks(self) -> Iterator[bytes]:
        """The bytes after `offset`. The caller moves `offset` past what it used."""
        while data := self._read():
            before = self.offset
            yield data
            if self.offset == before:
                # Not one whole record in it: a longer look may hold one.
                if len(data) < self._chunk or self._chunk >= 2 * LONGEST_RECORD_BYTES:
                    return
                self._chunk *= 2

    def records(self) -> Iterator[bytes]:
        """The data of every record that became whole since the last call."""
        for chunk in self.chunks():
            for record in whole_records(chunk, self.scan):
                yield bytes(record)
            self.offset += self.scan.consumed

    def _read(self) -> bytes:
        if self.scan.damaged_bytes > MOST_DAMAGED_BYTES:
            self.problem = "too much of it is damaged; the rest is not read"
            return b""
        if self.offset > MOST_BYTES:
            self.problem = f"it is too large; only {self.offset >> 20:,} MiB were read"
            return b""
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < self.offset:
                    self.offset = 0
                    self.restarts += 1
                    self.scan = Scan(damaged=self.scan.damaged)
                file.seek(self.offset)
                data = file.read(self._chunk)
        except OSError as error:
            self.problem = error.strerror or str(error)
            return b""
        self.problem = ""
        return data
