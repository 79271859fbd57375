"""Processes and threads that the trainer's control group has, and may have.

At the limit no thread can be started: "can't start new thread", or a data loader
that dies at once. Threads count as much as processes.
"""

from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.cgroups import groups_of
from tb_health_plugin.collectors.collector import Watched, measured
from tb_health_plugin.collectors.kernel_files import parse_number, parse_numbers, read


class CgroupPids:
    """Reads the pids controller of the process' group and its ancestors.

    Raises:
        SourceUnavailable: No pids controller covers this process. The topmost group
            of a machine has no counters, so a process in it is not covered.
    """

    what = "number of processes in the container"
    columns = ("cgroup_pids_used", "cgroup_pids_limit", "cgroup_pids_denied")

    def __init__(self, watched: Watched) -> None:
        self._groups = groups_of(watched, "pids", v1="pids.current", v2="pids.current")

    def collect(self) -> Mapping[str, float]:
        limit, tightest = self._groups.tightest(_limit)
        # Where a refusal is counted differs: in the group that asked (v1, and v2
        # before Linux 6.11), or in the one at its limit and all above it. The
        # highest count sees both and counts none twice.
        denied = [
            count
            for folder in self._groups.folders
            for count in parse_numbers(read(folder / "pids.events"), ("max",)).values()
        ]
        return measured(
            cgroup_pids_used=parse_number(read(tightest / "pids.current")),
            cgroup_pids_limit=limit,
            cgroup_pids_denied=max(denied, default=None),
        )


def _limit(folder: Path) -> int | None:
    return parse_number(read(folder / "pids.max"))


COLLECTOR = CgroupPids
