"""Kills for memory, counted in the last seconds only."""

from pathlib import Path

import pytest

from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.watching.oom_kills import OomKills

PID = 42


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "proc/42/cgroup", "4:memory:/slice/job\n0::/\n")
    set_counts(tmp_path, machine=3, slice=2, job=2)
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def set_counts(root: Path, *, machine: int, slice: int, job: int) -> None:
    base = "sys/fs/cgroup/memory/slice"
    write(root, "proc/vmstat", f"nr_free 1\noom_kill {machine}\n")
    write(root, f"{base}/memory.oom_control", f"under_oom 0\noom_kill {slice}\n")
    write(root, f"{base}/job/memory.oom_control", f"under_oom 0\noom_kill {job}\n")


def test_kills_before_the_run_are_not_ours(root: Path):
    kills = OomKills(Watched(pid=PID, root=root))
    kills.look(0.0)
    kills.look(1.0)

    assert kills.in_the_group() == 0
    assert kills.on_the_machine() == 0


def test_a_kill_in_the_group_is_counted(root: Path):
    kills = OomKills(Watched(pid=PID, root=root))
    kills.look(0.0)
    set_counts(root, machine=4, slice=2, job=3)
    kills.look(0.5)

    assert kills.in_the_group() == 1
    assert kills.on_the_machine() == 1


def test_a_kill_of_a_stranger_in_the_group_above_is_not_ours(root: Path):
    kills = OomKills(Watched(pid=PID, root=root))
    kills.look(0.0)
    set_counts(root, machine=4, slice=3, job=2)
    kills.look(0.5)

    assert kills.in_the_group() == 0


def test_a_kill_long_before_the_end_is_another_story(root: Path):
    kills = OomKills(Watched(pid=PID, root=root))
    kills.look(0.0)
    set_counts(root, machine=4, slice=3, job=3)
    for second in range(1, 20):
        kills.look(float(second))

    assert kills.in_the_group() == 0


def test_a_kill_elsewhere_on_the_machine_is_told_apart(root: Path):
    kills = OomKills(Watched(pid=PID, root=root))
    kills.look(0.0)
    set_counts(root, machine=9, slice=2, job=2)
    kills.look(0.5)

    assert kills.in_the_group() == 0
    assert kills.on_the_machine() == 6


def test_where_nobody_counts_it_is_none_not_zero(tmp_path: Path):
    kills = OomKills(Watched(pid=PID, root=tmp_path))
    kills.look(0.0)

    assert kills.in_the_group() is None
    assert kills.on_the_machine() is None


def test_cgroups_of_version_two(tmp_path: Path):
    write(tmp_path, "proc/42/cgroup", "0::/job\n")
    write(tmp_path, "sys/fs/cgroup/job/memory.events", "oom 1\noom_kill 1\n")
    kills = OomKills(Watched(pid=PID, root=tmp_path))
    kills.look(0.0)
    write(tmp_path, "sys/fs/cgroup/job/memory.events", "oom 2\noom_kill 2\n")
    kills.look(1.0)

    assert kills.in_the_group() == 1
