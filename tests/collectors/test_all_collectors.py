"""What holds for every collector, also those still to be written."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tb_health_plugin import collectors
from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.events import columns

# A sample is taken each second and may cost 0.3 % of a core. Tests run on machines
# that are busy, so this bound is the rule of thumb times ten.
BUDGET_SECONDS = 0.003 * 10


def test_each_fills_only_columns_of_the_vocabulary():
    known = {column.name for column in (*columns.RESOURCES, *columns.GPUS)}

    for kind in collectors.collector_classes():
        assert set(kind.columns) <= known


def test_every_column_of_the_vocabulary_is_there_once():
    names = Counter(column.name for column in columns.RESOURCES)

    assert set(names.values()) == {1}


def test_no_column_is_filled_by_two():
    names = Counter(c for kind in collectors.collector_classes() for c in kind.columns)

    assert [name for name, times in names.items() if times > 1] == []


def test_no_two_go_by_the_same_name():
    """The schedule tells them apart by it."""
    sources = [kind.what for kind in collectors.collector_classes()]

    assert len(set(sources)) == len(sources)


def test_one_that_fails_does_not_cost_the_rest(monkeypatch: pytest.MonkeyPatch):
    class Broken:
        what = "something"
        columns = ()

        def __init__(self, watched: Watched) -> None:
            raise KeyError("new kernel")

    known = collectors.collector_classes()
    monkeypatch.setattr(collectors, "collector_classes", lambda: (Broken, *known))
    available, missing = collectors.available_collectors(Watched(pid=os.getpid()))

    assert available
    assert missing[0].why == "it failed (KeyError: 'new kernel')"


def test_this_very_process():
    """Not a fixture: keeps us honest about the kernel the tests run on."""
    available, _ = collectors.available_collectors(Watched(pid=os.getpid()))

    for collector in available:
        reading = collector.collect()
        assert set(reading) <= set(collector.columns)
        assert all(isinstance(number, float) for number in reading.values())
    assert "process_rss_bytes" in {c for one in available for c in one.columns}


def test_a_sample_costs_little(tmp_path: Path):
    watched = Watched(pid=os.getpid(), logdir=tmp_path)
    available, _ = collectors.available_collectors(watched)

    def sample() -> float:
        began = os.times()
        for collector in available:
            collector.collect()
        ended = os.times()
        return ended.user - began.user + ended.system - began.system

    # Enough that what is done rarely is in it.
    samples = 60
    assert sum(sample() for _ in range(samples)) / samples < BUDGET_SECONDS


def test_a_trainer_that_has_ended_breaks_nothing(machine):
    """Whatever was there at the start may be gone at the next look."""
    watched = machine(
        {
            "proc/42/stat": "42 (python) S 1 " + "0 " * 48,
            "proc/42/statm": "1 1 1 1 0 1 0\n",
            "proc/42/cgroup": "0::/job\n",
            "proc/meminfo": "MemTotal: 1000 kB\n",
            "proc/pressure/memory": "some avg10=0.00 total=1\n",
            "sys/fs/cgroup/job/memory.current": "1\n",
            "sys/fs/cgroup/job/cpu.max": "max 100000\n",
            "sys/fs/cgroup/job/pids.current": "1\n",
            "sys/class/thermal/thermal_zone0/temp": "40000\n",
        }
    )
    available, _ = collectors.available_collectors(watched)
    for path in watched.root.rglob("*"):
        if path.is_file() and path.name != "meminfo":
            path.unlink()

    for collector in available:
        assert set(collector.collect()) <= set(collector.columns)


def test_what_a_machine_does_not_offer_is_said(tmp_path: Path):
    _, missing = collectors.available_collectors(
        Watched(pid=os.getpid(), root=tmp_path)
    )

    assert {one.what for one in missing} == {
        "CPU limit of the container",
        "GPU",
        "memory of the container",
        "number of processes in the container",
        "disk throughput of the machine",
        "free disk space of open files",
        "load of the machine",
        "CPU of the machine",
        "network throughput",
        "memory kills and swapping of the machine",
        "time lost waiting for CPU, memory or disk",
        "temperature of the machine",
    }
    assert all(one.why for one in missing)
