"""CPU time of the machine."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.machine_cpu import MachineCpu, parse_stat

STAT = (
    "cpu  1000 20 300 463241 1215 4 50 253 70 0\n"
    "cpu0 500 10 150 242090 325 2 25 131 35 0\n"
    "cpu1 500 10 150 221151 890 2 25 122 35 0\n"
    "intr 7 0 0\nctxt 9\nbtime 1700000000\n"
)
TICK = 0.01


def test_waiting_stolen_and_guest_time_are_not_busy():
    assert parse_stat(STAT, TICK) == {
        "machine_cpu_cores": 2.0,
        "machine_cpu_busy_seconds": pytest.approx(13.74),
        "machine_cpu_stolen_seconds": pytest.approx(2.53),
        "machine_iowait_seconds": pytest.approx(12.15),
    }


def test_the_file_is_read(machine):
    assert MachineCpu(machine({"proc/stat": STAT})).collect().keys() == set(
        MachineCpu.columns
    )


@pytest.mark.parametrize("line", ["cpu\n", "cpu 1 2 3\n", "cpu 1 2 3 4 5 6 7 x\n", ""])
def test_malformed_lines_are_left_out(line: str):
    assert parse_stat(f"{line}cpu0 1\n", TICK) == {"machine_cpu_cores": 1.0}


def test_nothing_told_is_nothing_measured():
    assert parse_stat("", TICK) == {}


def test_no_linux_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="/proc/stat"):
        MachineCpu(machine({}))
