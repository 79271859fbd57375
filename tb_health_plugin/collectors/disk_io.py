"""Bytes that the machine's disks read and wrote, and how long they were at work."""

from collections.abc import Collection, Mapping
from pathlib import Path

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.rising import Rising

# Fields of a line of /proc/diskstats.
_NAME, _SECTORS_READ, _SECTORS_WRITTEN, _BUSY_MILLISECONDS = 2, 5, 9, 12
# The unit of the file, whatever the sectors of the disk are.
_SECTOR_BYTES = 512
# Not disks: files and memory that look like some.
_NO_DISKS = ("loop", "ram", "zram")


class DiskIo:
    """Reads `/proc/diskstats` for the disks that were there at the start.

    Times of all disks are added up: two busy disks make two seconds a second. The
    longest alone would tell of the past, as counters begin when the machine does.

    Raises:
        SourceUnavailable: This is not Linux, or it shows no disks.
    """

    what = "disk throughput of the machine"
    columns = ("disk_read_bytes", "disk_write_bytes", "disk_busy_seconds")

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/diskstats"
        if not self._file.exists():
            raise SourceUnavailable("only Linux counts it, in /proc/diskstats")
        self._disks = whole_disks(watched.root / "sys/block")
        if not self._disks:
            raise SourceUnavailable("/sys/block shows no disks here")
        self._totals = {name: Rising() for name in self.columns}

    def collect(self) -> Mapping[str, float]:
        numbers = parse_diskstats(self._file.read_text(), self._disks)
        return {name: self._totals[name](number) for name, number in numbers.items()}


def whole_disks(block: Path) -> frozenset[str]:
    """Disks proper: no partitions, and nothing built on top of other disks.

    What goes to an encrypted or RAID volume goes to the disks below it as well, and
    would be counted twice.
    """
    if not block.is_dir():
        return frozenset()
    return frozenset(
        disk.name
        for disk in block.iterdir()
        if not disk.name.startswith(_NO_DISKS) and not any(disk.glob("slaves/*"))
    )


def parse_diskstats(text: str, disks: Collection[str]) -> dict[str, float]:
    """Sums over the named disks; empty if none of them is there."""
    read_bytes = write_bytes = busy_milliseconds = seen = 0
    for line in text.splitlines():
        fields = line.split()
        if len(fields) <= _BUSY_MILLISECONDS or fields[_NAME] not in disks:
            continue
        if not all(field.isdecimal() for field in fields[_NAME + 1 :]):
            continue
        seen += 1
        read_bytes += int(fields[_SECTORS_READ]) * _SECTOR_BYTES
        write_bytes += int(fields[_SECTORS_WRITTEN]) * _SECTOR_BYTES
        busy_milliseconds += int(fields[_BUSY_MILLISECONDS])
    if not seen:
        return {}
    return {
        "disk_read_bytes": float(read_bytes),
        "disk_write_bytes": float(write_bytes),
        "disk_busy_seconds": busy_milliseconds / 1000,
    }


COLLECTOR = DiskIo
