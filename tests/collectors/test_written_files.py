"""Room left where the training has files open for writing."""

import os
from pathlib import Path

import pytest

from tb_health_plugin.collectors import written_files
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.written_files import WrittenFiles

SHARED = Path("/dev/shm")


@pytest.fixture
def elsewhere(tmp_path: Path):
    """A file on another file system than the log; gone afterwards."""
    if not SHARED.is_dir() or SHARED.stat().st_dev == tmp_path.stat().st_dev:
        # Without rights to mount one, memory is the only other place on most machines;
        # demo/causes/events_lost.py mounts one and fills it.
        pytest.skip("there is no second file system to write to")
    path = SHARED / f"training-health-{os.getpid()}"
    path.write_text("x")
    yield path
    path.unlink()


def collector(logdir: Path) -> WrittenFiles:
    return WrittenFiles(Watched(pid=os.getpid(), logdir=logdir, temp=str(logdir)))


def test_a_file_that_is_open_for_writing(tmp_path: Path, elsewhere: Path):
    watched = collector(tmp_path)
    # What others have open in this process counts, too.
    before = watched.collect()

    with elsewhere.open("a"):
        reading = watched.collect()

    told = os.statvfs(SHARED)
    assert before == {}
    assert reading["files_disk_total_bytes"] == told.f_blocks * told.f_frsize
    assert 0 < reading["files_disk_free_bytes"] <= reading["files_disk_total_bytes"]
    assert watched.collect() == {}


def test_a_file_that_is_only_read(tmp_path: Path, elsewhere: Path):
    with elsewhere.open():
        assert collector(tmp_path).collect() == {}


def test_a_file_beside_the_log(tmp_path: Path):
    with (tmp_path / "events").open("w"):
        assert collector(tmp_path).collect() == {}


def test_a_disk_that_is_full_from_the_beginning(
    tmp_path: Path, elsewhere: Path, monkeypatch
):
    full = os.statvfs_result((4096, 4096, 100, 0, 0, 20, 10, 9, 0, 255))
    half = os.statvfs_result((4096, 4096, 10_000, 5_000, 5_000, 20, 10, 9, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    first, second = collector(tmp_path), collector(tmp_path)
    with elsewhere.open("a"):
        assert first.collect() == {}
        monkeypatch.setattr(os, "statvfs", lambda path: half)
        assert first.collect() == {}
        assert second.collect()["files_disk_free_bytes"] == 5_000.0 * 4096
        monkeypatch.setattr(os, "statvfs", lambda path: full)
        assert second.collect()["files_disk_free_bytes"] == 0.0


def test_asked_rarely_after_a_while(tmp_path: Path, elsewhere: Path):
    watched = collector(tmp_path)
    with elsewhere.open("a"):
        asked = [bool(watched.collect()) for _ in range(written_files._FIRST_READINGS)]
        later = [bool(watched.collect()) for _ in range(10)]

    assert all(asked)
    assert later.count(True) == 2


def test_a_process_that_is_gone(tmp_path: Path):
    gone = Watched(pid=2**22 + 1, logdir=tmp_path)

    with pytest.raises(SourceUnavailable):
        WrittenFiles(gone)
