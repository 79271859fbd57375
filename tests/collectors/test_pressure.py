"""Time lost waiting, as the kernel's PSI tells it."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.pressure import Pressure, parse_pressure

IO = (
    "some avg10=0.03 avg60=0.36 avg300=0.27 total=11597986\n"
    "full avg10=0.00 avg60=0.19 avg300=0.07 total=8844038\n"
)


def test_microseconds_become_seconds():
    assert parse_pressure(IO) == {
        "some": pytest.approx(11.597986),
        "full": pytest.approx(8.844038),
    }


def test_each_file_fills_its_columns(machine):
    watched = machine(
        {
            "proc/pressure/cpu": "some avg10=16.90 total=1000000\nfull total=9\n",
            "proc/pressure/memory": "some total=2000000\nfull total=3000000\n",
            "proc/pressure/io": "some total=9\nfull total=4000000\n",
        }
    )

    assert Pressure(watched).collect() == {
        "pressure_cpu_some_seconds": 1.0,
        "pressure_memory_some_seconds": 2.0,
        "pressure_memory_full_seconds": 3.0,
        "pressure_io_full_seconds": 4.0,
    }


def test_a_missing_file_leaves_the_others(machine):
    watched = machine({"proc/pressure/memory": "some total=2000000\n"})

    assert Pressure(watched).collect() == {"pressure_memory_some_seconds": 2.0}


@pytest.mark.parametrize("text", ["\n", "some\n", "some total=\n", "some total=x\n"])
def test_malformed_lines_are_left_out(text: str):
    assert parse_pressure(text) == {}


@pytest.mark.parametrize("files", [{}, {"proc/pressure/memory": ""}])
def test_a_kernel_that_does_not_measure_it_is_no_error(machine, files: dict[str, str]):
    with pytest.raises(SourceUnavailable, match="psi=1"):
        Pressure(machine(files))
