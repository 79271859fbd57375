"""The trainer and its data loaders together."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tb_health_plugin.collectors import process_tree
from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.process_tree import ProcessTree

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")

# A child that says it is there, then stays until its input is closed.
CHILD = "print('here', flush=True); input()"


def process(
    pid: int,
    *,
    children: str = "",
    pages: int = 10,
    cpu: float = 0,
    cpu_of_ended: float = 0,
    state: str = "S",
) -> dict[str, str]:
    before_cpu = f"{pid} (python) {state} 1 1 1 0 -1 0 0 0 0 0"
    cpu_ticks = f"{cpu * TICKS:.0f} 0 {cpu_of_ended * TICKS:.0f} 0"
    return {
        f"proc/{pid}/stat": f"{before_cpu} {cpu_ticks} 20 0 4 0 9 5000 {pages} 0 0\n",
        f"proc/{pid}/io": "rchar: 9\nread_bytes: 100\nwrite_bytes: 30\n",
        f"proc/{pid}/smaps_rollup": "55-7f ---p [rollup]\nRss: 40 kB\nPss: 8 kB\n",
        f"proc/{pid}/task/{pid}/children": children,
    }


def test_all_processes_are_added_up(machine):
    watched = machine(
        {
            **process(42, children="50 ", pages=10, cpu=2, cpu_of_ended=5),
            **process(50, pages=5, cpu=1),
        }
    )

    assert ProcessTree(watched).collect() == {
        "tree_processes": 2.0,
        "tree_rss_bytes": 15.0 * PAGE_BYTES,
        "tree_pss_bytes": 16.0 * 1024,
        "tree_cpu_seconds": pytest.approx(8.0),
        "tree_read_bytes": 200.0,
        "tree_write_bytes": 60.0,
    }


def test_a_child_that_vanished_between_listing_and_reading(machine):
    watched = machine(process(42, children="50 51 "))

    assert ProcessTree(watched).collect()["tree_processes"] == 1.0


def test_a_child_that_nobody_waited_for_has_no_memory_but_used_time(machine):
    watched = machine(
        {
            **process(42, children="50 ", pages=10, cpu=2),
            **process(50, pages=0, cpu=1, state="Z"),
        }
    )

    reading = ProcessTree(watched).collect()

    assert reading["tree_processes"] == 1.0
    assert reading["tree_cpu_seconds"] == pytest.approx(3.0)


def test_time_goes_on_from_where_it_was_when_a_child_takes_its_own_away(machine):
    watched = machine({**process(42, children="50 ", cpu=2), **process(50, cpu=100)})
    collector = ProcessTree(watched)
    collector.collect()
    shutil.rmtree(watched.root / "proc/50")

    seconds = []
    for cpu in (3, 4, 5, 6):
        machine(process(42, cpu=cpu))
        seconds.append(collector.collect()["tree_cpu_seconds"])

    assert seconds == pytest.approx([102.0, 102.0, 103.0, 104.0])


def test_a_child_whose_disk_use_is_forbidden_to_read(machine):
    watched = machine({**process(42, children="50 "), **process(50)})
    (watched.root / "proc/50/io").unlink()

    assert ProcessTree(watched).collect()["tree_read_bytes"] == 100.0


def test_kernels_without_disk_use_leave_it_out(machine):
    watched = machine(process(42))
    (watched.root / "proc/42/io").unlink()
    (watched.root / "proc/42/smaps_rollup").unlink()

    assert ProcessTree(watched).collect().keys() == {
        "tree_processes",
        "tree_rss_bytes",
        "tree_cpu_seconds",
    }


def test_new_children_are_found_before_long(machine):
    collector = ProcessTree(machine(process(42)))
    collector.collect()
    machine({**process(42, children="50 "), **process(50)})

    counts = [collector.collect()["tree_processes"] for _ in range(10)]

    assert counts == [*[1] * 9, 2]


def test_shared_memory_is_measured_rarely(machine):
    collector = ProcessTree(machine(process(42)))

    measured = ["tree_pss_bytes" in collector.collect() for _ in range(61)]

    assert [i for i, yes in enumerate(measured) if yes] == [0, 30, 60]


def test_and_even_more_rarely_where_it_takes_long(machine):
    """0.1 s each, so every 200th time."""
    ticks = iter(range(1000))
    collector = ProcessTree(machine(process(42)), clock=lambda: next(ticks) * 0.1)

    measured = ["tree_pss_bytes" in collector.collect() for _ in range(401)]

    assert [i for i, yes in enumerate(measured) if yes] == [0, 200, 400]


def test_a_trainer_that_has_ended_is_no_error(machine):
    watched = machine({**process(42, children="50 "), **process(50)})
    collector = ProcessTree(watched)
    collector.collect()
    shutil.rmtree(watched.root / "proc/42")

    assert collector.collect() == {}


def test_the_watcher_does_not_count_itself(machine, monkeypatch):
    monkeypatch.setattr(process_tree.os, "getpid", lambda: 50)
    watched = machine({**process(42, children="50 "), **process(50)})

    assert ProcessTree(watched).collect()["tree_processes"] == 1.0


@contextmanager
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.communicate(b"\n")


@pytest.mark.parametrize("with_proc", [True, False], ids=["proc", "psutil"])
def test_a_real_child_is_counted_while_it_lives(tmp_path: Path, with_proc: bool):
    watched = Watched(pid=os.getpid(), root=Path("/") if with_proc else tmp_path)
    before = ProcessTree(watched).collect()

    with child():
        during = ProcessTree(watched).collect()
    after = ProcessTree(watched).collect()

    assert during["tree_processes"] == before["tree_processes"] + 1
    assert during["tree_rss_bytes"] > before["tree_rss_bytes"]
    assert after["tree_processes"] == before["tree_processes"]
    # The child's time stays in its parent's account.
    assert after["tree_cpu_seconds"] >= during["tree_cpu_seconds"]


def test_psutil_is_not_asked_about_the_watcher(tmp_path: Path, monkeypatch):
    watched = Watched(pid=os.getpid(), root=tmp_path)
    before = ProcessTree(watched).collect()

    with child() as watcher:
        monkeypatch.setattr(process_tree.os, "getpid", lambda: watcher.pid)
        during = ProcessTree(watched).collect()
        monkeypatch.undo()

    assert during["tree_processes"] == before["tree_processes"]


def test_psutil_is_not_surprised_by_an_ended_trainer(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass

    assert ProcessTree(Watched(pid=ended.pid, root=tmp_path)).collect() == {}
