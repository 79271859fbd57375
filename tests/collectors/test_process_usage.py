"""Threads, files and swap of the training process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.process_usage import (
    ProcessUsage,
    parse_open_files_limit,
)

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96349                96349                processes
Max open files            1024                 20000                files
Max locked memory         8388608              8388608              bytes
"""
TRAINER = {
    "proc/42/stat": "42 (py) S 1 1 1 0 -1 0 0 0 7 0 1 2 3 4 20 0 12 0 9 5000 10 0 0\n",
    "proc/42/status": "Name:\tpy\nVmRSS:\t 40 kB\nVmSwap:\t       3 kB\nThreads:\t12\n",
    "proc/42/limits": LIMITS,
    "proc/42/fd/0": "",
    "proc/42/fd/1": "",
}


def test_all_of_it(machine):
    assert ProcessUsage(machine(TRAINER)).collect() == {
        "process_threads": 12.0,
        "process_fds": 2.0,
        "process_fd_limit": 1024.0,
        "process_swap_bytes": 3.0 * 1024,
        "process_major_faults": 7.0,
    }


def test_files_are_counted_rarely_and_their_limit_more_so(machine):
    collector = ProcessUsage(machine(TRAINER))

    readings = [collector.collect() for _ in range(31)]

    assert [i for i, r in enumerate(readings) if "process_fds" in r] == [
        *range(0, 31, 5)
    ]
    assert [i for i, r in enumerate(readings) if "process_fd_limit" in r] == [0, 30]


def test_what_cannot_be_read_is_left_out(machine):
    watched = machine(
        {"proc/42/stat": "42 (py) S\n", "proc/42/status": "VmSwap:\nThreads:\tx\n"}
    )

    assert ProcessUsage(watched).collect() == {}


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (LIMITS, 1024),
        ("Max open files            unlimited   unlimited   files\n", None),
        ("Max open files\n", None),
        ("", None),
    ],
)
def test_the_soft_limit_counts(text: str, limit: int | None):
    assert parse_open_files_limit(text) == limit


@pytest.mark.parametrize("with_proc", [True, False], ids=["proc", "psutil"])
def test_a_file_that_is_opened_is_counted(tmp_path: Path, with_proc: bool):
    watched = Watched(pid=os.getpid(), root=Path("/") if with_proc else tmp_path)
    before = ProcessUsage(watched).collect()["process_fds"]

    with (tmp_path / "file").open("w"):
        during = ProcessUsage(watched).collect()["process_fds"]

    assert during == before + 1


def test_psutil_is_not_surprised_by_an_ended_trainer(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass

    assert ProcessUsage(Watched(pid=ended.pid, root=tmp_path)).collect() == {}
