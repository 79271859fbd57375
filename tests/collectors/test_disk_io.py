"""Throughput of the disks."""

from pathlib import Path

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.disk_io import DiskIo, parse_diskstats, whole_disks

DISKSTATS = """\
   7       0 loop0 5 0 500 1 0 0 0 0 0 9 9 0 0 0 0 0 0
 259       0 nvme0n1 118 16 2000 109 458 962 1000 414 0 3000 154 3 5 2 2 7 9
 259       1 nvme0n1p1 100 16 1900 100 450 960 900 400 0 2900 150 3 5 2 2 7 9
   8       0 sda 10 0 20 1 10 0 40 1 0 500 2
 253       0 dm-0 10 0 20 1 10 0 40 1 0 500 2
"""


def make_disks(root: Path, *names: str) -> None:
    for name in names:
        (root / "sys/block" / name / "slaves").mkdir(parents=True)


def test_disks_are_added_up(machine, tmp_path: Path):
    make_disks(tmp_path, "nvme0n1", "sda", "loop0")

    assert DiskIo(machine({"proc/diskstats": DISKSTATS})).collect() == {
        "disk_read_bytes": 2020.0 * 512,
        "disk_write_bytes": 1040.0 * 512,
        "disk_busy_seconds": 3.5,
    }


def test_what_is_built_on_other_disks_would_count_twice(tmp_path: Path):
    make_disks(tmp_path, "sda", "dm-0", "md127", "zram0", "ram0", "loop3", "nbd0")
    (tmp_path / "sys/block/dm-0/slaves/sda2").mkdir()
    (tmp_path / "sys/block/md127/slaves/sdb").mkdir()

    assert whole_disks(tmp_path / "sys/block") == {"sda", "nbd0"}


def test_a_disk_that_is_pulled_out_takes_nothing_away(machine, tmp_path: Path):
    make_disks(tmp_path, "nvme0n1", "sda")
    collector = DiskIo(machine({"proc/diskstats": DISKSTATS}))
    collector.collect()
    machine({"proc/diskstats": DISKSTATS.replace("nvme", "none")})

    later = [collector.collect()["disk_read_bytes"] for _ in range(3)]

    assert later == [2020.0 * 512] * 3


@pytest.mark.parametrize("line", ["", "8 0 sda", "8 0 sda 1 2 x 4 5 6 7 8 9 10 11"])
def test_malformed_lines_are_left_out(line: str):
    assert parse_diskstats(line, {"sda"}) == {}


def test_a_machine_without_disks_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="no disks"):
        DiskIo(machine({"proc/diskstats": ""}))


def test_no_linux_is_no_error(tmp_path: Path):
    with pytest.raises(SourceUnavailable, match="diskstats"):
        DiskIo(Watched(pid=1, root=tmp_path))
