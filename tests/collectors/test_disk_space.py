"""Room left on disks."""

import os
from pathlib import Path

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.disk_space import DiskSpace

# Block size, fragment size, blocks, free, available, inodes, free, available, flags.
HALF_FULL = os.statvfs_result((4096, 1024, 100, 50, 40, 20, 10, 9, 0, 255))
BTRFS = os.statvfs_result((4096, 4096, 100, 50, 40, 0, 0, 0, 0, 255))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)


def answer(monkeypatch: pytest.MonkeyPatch, answers: dict[Path, os.statvfs_result]):
    def statvfs(path: Path) -> os.statvfs_result:
        if path not in answers:
            raise FileNotFoundError(path)
        return answers[path]

    monkeypatch.setattr(os, "statvfs", statvfs)


def test_free_is_what_an_ordinary_user_may_fill(tmp_path: Path, monkeypatch):
    answer(monkeypatch, {tmp_path / "logs": HALF_FULL, tmp_path / "tmp": BTRFS})

    reading = DiskSpace(
        Watched(pid=1, logdir=tmp_path / "logs", root=tmp_path)
    ).collect()

    assert reading == {
        "logdir_disk_free_bytes": 40.0 * 1024,
        "logdir_disk_total_bytes": 100.0 * 1024,
        "logdir_disk_free_inodes": 9.0,
        "temp_disk_free_bytes": 40.0 * 4096,
    }


def test_where_the_model_is_saved(tmp_path: Path, monkeypatch):
    answer(monkeypatch, {tmp_path / "models": HALF_FULL})
    collector = DiskSpace(Watched(pid=1, root=tmp_path))

    collector.saves_into(tmp_path / "models")

    assert collector.collect() == {
        "save_disk_free_bytes": 40.0 * 1024,
        "save_disk_total_bytes": 100.0 * 1024,
        "save_disk_free_inodes": 9.0,
    }


def test_a_file_system_without_a_number_of_inodes(tmp_path: Path, monkeypatch):
    answer(monkeypatch, {tmp_path: BTRFS})

    reading = DiskSpace(Watched(pid=1, logdir=tmp_path)).collect()

    assert "logdir_disk_free_inodes" not in reading


def test_the_environment_says_where_temporary_files_go(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/scratch")
    answer(monkeypatch, {tmp_path / "scratch": HALF_FULL})

    reading = DiskSpace(Watched(pid=1, root=tmp_path)).collect()

    assert reading == {
        "temp_disk_free_bytes": 40.0 * 1024,
        "temp_disk_free_inodes": 9.0,
    }


def test_the_trainer_says_where_temporary_files_go(tmp_path: Path, monkeypatch):
    """The watcher has no variable of the user's."""
    answer(monkeypatch, {tmp_path / "fast": BTRFS})

    reading = DiskSpace(Watched(pid=1, root=tmp_path, temp="/fast")).collect()

    assert reading == {"temp_disk_free_bytes": 40.0 * 4096}


def test_a_log_that_is_not_on_this_machine(tmp_path: Path):
    watched = Watched(pid=1, logdir=Path("gs://bucket/logs"), root=tmp_path)

    assert DiskSpace(watched).collect() == {}


def test_asked_rarely(tmp_path: Path):
    collector = DiskSpace(Watched(pid=1, logdir=tmp_path))

    asked = [bool(collector.collect()) for _ in range(11)]

    assert asked == [True, *[False] * 4, True, *[False] * 4, True]


def test_a_system_without_statvfs_is_no_error(monkeypatch):
    monkeypatch.delattr(os, "statvfs")

    with pytest.raises(SourceUnavailable, match="statvfs"):
        DiskSpace(Watched(pid=1))
