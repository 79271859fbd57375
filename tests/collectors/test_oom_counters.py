"""Kills and swapping of the machine."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.oom_counters import OomCounters, parse_vmstat

VMSTAT = "nr_free_pages 5882270\npswpin 12\npswpout 34\npgfault 9\noom_kill 2\n"


def test_the_three_that_matter(machine):
    assert OomCounters(machine({"proc/vmstat": VMSTAT})).collect() == {
        "machine_oom_kills": 2.0,
        "machine_swap_in_pages": 12.0,
        "machine_swap_out_pages": 34.0,
    }


def test_kernels_before_4_13_do_not_count_kills():
    assert "machine_oom_kills" not in parse_vmstat("pswpin 1\npswpout 2\n")


def test_malformed_lines_are_left_out():
    assert parse_vmstat("pswpin\noom_kill many\npswpout 3\n") == {
        "machine_swap_out_pages": 3.0
    }


def test_no_linux_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="vmstat"):
        OomCounters(machine({}))
