"""CPU time that the trainer's control group may use, and how often it was refused.

A group that has used up its share of a period stands still until the next one, with
all its threads: from inside, a training that is throttled just looks slow.
"""

from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.cgroups import groups_of
from tb_health_plugin.collectors.collector import Watched, measured
from tb_health_plugin.collectors.kernel_files import parse_number, parse_numbers, read

_PERIODS = "nr_throttled"
# Version 1 counts nanoseconds, version 2 microseconds.
_THROTTLED_TIME = {1: ("throttled_time", 1e-9), 2: ("throttled_usec", 1e-6)}


class CgroupCpu:
    """Reads the cpu controller, v1 or v2, of the process' group and its ancestors.

    The trainer stands still whichever of its groups is throttled, so their counters
    are added up. Each counts per CPU: more than one second a second is possible.

    Raises:
        SourceUnavailable: No cpu controller covers this process.
    """

    what = "CPU limit of the container"
    columns = (
        "cgroup_cpu_limit_cores",
        "cgroup_cpu_throttled_seconds",
        "cgroup_cpu_throttled_periods",
    )

    def __init__(self, watched: Watched) -> None:
        self._groups = groups_of(watched, "cpu", v1="cpu.cfs_quota_us", v2="cpu.max")

    def collect(self) -> Mapping[str, float]:
        limit, _ = self._groups.tightest(self._limit)
        name, unit_seconds = _THROTTLED_TIME[self._groups.version]
        stats = [
            parse_numbers(read(folder / "cpu.stat"), (_PERIODS, name))
            for folder in self._groups.folders
        ]
        return measured(
            cgroup_cpu_limit_cores=limit,
            cgroup_cpu_throttled_seconds=_total(stats, name, unit_seconds),
            cgroup_cpu_throttled_periods=_total(stats, _PERIODS, 1),
        )

    def _limit(self, folder: Path) -> float | None:
        if self._groups.version == 2:
            return parse_cores(read(folder / "cpu.max"))
        quota, period = (read(folder / f"cpu.cfs_{n}_us") for n in ("quota", "period"))
        return parse_cores(f"{quota} {period}")


def parse_cores(text: str) -> float | None:
    """Cores' worth of time, from quota and period; no quota is `max` or -1."""
    words = text.split()
    if len(words) != 2:
        return None
    quota, period = map(parse_number, words)
    if quota is None or period is None or quota <= 0 or period <= 0:
        return None
    return quota / period


def _total(stats: list[dict[str, int]], name: str, unit: float) -> float | None:
    counts = [stat[name] for stat in stats if name in stat]
    return sum(counts) * unit if counts else None


COLLECTOR = CgroupCpu
