"""Memory of the training process."""

import os
from pathlib import Path

from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.process_memory import ProcessMemory

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def test_resident_pages_become_bytes(machine):
    watched = machine({"proc/42/statm": "900 7 5 1 0 3 0\n"})

    assert ProcessMemory(watched).collect() == {"process_rss_bytes": 7.0 * PAGE_BYTES}


def test_a_process_that_has_ended_is_no_error(machine):
    watched = machine({"proc/42/statm": "900 7 5 1 0 3 0\n"})
    collector = ProcessMemory(watched)
    (watched.root / "proc/42/statm").unlink()

    assert collector.collect() == {}


def test_a_process_that_lets_go_of_its_memory_is_not_measured(machine):
    """Seen at the end of a training: the last sample said it held nothing."""
    watched = machine({"proc/42/statm": "0 0 0 0 0 0 0\n"})

    assert ProcessMemory(watched).collect() == {}


def test_without_proc_psutil_is_asked(tmp_path: Path):
    reading = ProcessMemory(Watched(pid=os.getpid(), root=tmp_path)).collect()

    assert reading["process_rss_bytes"] > 1 << 20
