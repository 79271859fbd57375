"""Last words fit onto a full disk."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading.record_reader import RecordReader

SPARE = 64 << 10


@pytest.fixture
def small_disk(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("a small file system is mounted by root")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    with (place / "rest").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def word(number: int) -> facts.Incident:
    return facts.Incident(wall_time=1.0, step=number, message="x" * 200)


def write_many(file: EventFile) -> None:
    for number in range(100):
        file.append_fact(word(number))


def test_facts_are_written_to_a_disk_that_somebody_filled(small_disk: Path):
    file = EventFile(small_disk / "records.000.tfrecord", now=1.0, spare_bytes=SPARE)
    fill(small_disk)
    write_many(file)
    file.close()

    reader = RecordReader(small_disk / "records.000.tfrecord")
    assert [fact.step for fact in reader.read()] == list(range(100))
    assert reader.damaged == 0


def test_without_spare_room_they_are_not(small_disk: Path):
    file = EventFile(small_disk / "records.000.tfrecord", now=1.0)
    fill(small_disk)

    with pytest.raises(OSError, match="No space"):
        write_many(file)
    file.close()


def test_the_file_is_no_longer_than_what_it_holds(tmp_path: Path):
    plain = EventFile(tmp_path / "plain", now=1.0)
    spare = EventFile(tmp_path / "spare", now=1.0, spare_bytes=SPARE)
    for file in (plain, spare):
        for number in range(500):
            file.append_fact(word(number))

    assert (tmp_path / "spare").read_bytes() == (tmp_path / "plain").read_bytes()
    spare.close()
    plain.close()
    kept = (tmp_path / "spare").stat().st_blocks * 512
    assert kept - (tmp_path / "plain").stat().st_size < SPARE // 4
