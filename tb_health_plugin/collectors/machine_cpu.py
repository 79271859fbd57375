"""CPU time of the whole machine: spent, taken away, and idle waiting for disks."""

import os
from collections.abc import Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched

# Columns of the `cpu` line of /proc/stat, as `man 5 proc` has them. Time of guest
# systems is part of `user` and `nice` already.
_USER, _NICE, _SYSTEM, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL = 0, 1, 2, 4, 5, 6, 7
_BUSY = (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)


class MachineCpu:
    """Reads `/proc/stat`, which tells of the machine inside a container too.

    Raises:
        SourceUnavailable: This is not Linux.
    """

    what = "CPU of the machine"
    columns = (
        "machine_cpu_cores",
        "machine_cpu_busy_seconds",
        "machine_cpu_stolen_seconds",
        "machine_iowait_seconds",
    )

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/stat"
        if not self._file.exists():
            raise SourceUnavailable("only Linux counts it, in /proc/stat")
        self._tick_seconds = 1 / os.sysconf("SC_CLK_TCK")

    def collect(self) -> Mapping[str, float]:
        return parse_stat(self._file.read_text(), self._tick_seconds)


def parse_stat(text: str, tick_seconds: float) -> dict[str, float]:
    """Times are summed over the cores."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    cores = sum(1 for line in lines if line[0] != "cpu")
    numbers = {"machine_cpu_cores": float(cores)} if cores else {}
    ticks = next((line[1:] for line in lines if line[0] == "cpu"), [])
    if len(ticks) > _STEAL and all(word.isdecimal() for word in ticks):
        busy = sum(int(ticks[field]) for field in _BUSY)
        numbers["machine_cpu_busy_seconds"] = busy * tick_seconds
        numbers["machine_cpu_stolen_seconds"] = int(ticks[_STEAL]) * tick_seconds
        numbers["machine_iowait_seconds"] = int(ticks[_IOWAIT]) * tick_seconds
    return numbers


COLLECTOR = MachineCpu
