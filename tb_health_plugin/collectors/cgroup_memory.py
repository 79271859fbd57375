"""Memory of the trainer's control group: in use, allowed, and kills for want of it.

The kernel's own files are read, not the machine's totals: inside a container the
kill comes at the container's limit. A limit may sit on any ancestor, so all are
looked at and the tightest one counts.

Kills are counted where the victim was, not where the limit is. Version 1 counts in
the victim's group alone, so an ancestor's counter misses it. Version 2 counts in the
ancestors too, where kills of strangers are in the same number. The counter of the
trainer's own group is right in both, whichever limit was hit, the machine's included.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tb_health_plugin.collectors.cgroups import groups_of
from tb_health_plugin.collectors.collector import Watched, measured
from tb_health_plugin.collectors.kernel_files import parse_number, parse_numbers, read

# cgroup v1 has no word for "no limit"; it reports the largest page-aligned int64.
_V1_UNLIMITED = 1 << 62


class _Names(NamedTuple):
    used: str
    limit: str
    kills: str
    inactive_file: str


# A plain `inactive_file` of version 1 leaves out the groups below.
_NAMES = {
    1: _Names(
        "memory.usage_in_bytes",
        "memory.limit_in_bytes",
        "memory.oom_control",
        "total_inactive_file",
    ),
    2: _Names("memory.current", "memory.max", "memory.events", "inactive_file"),
}


class CgroupMemory:
    """Reads the memory controller, v1 or v2, of the process' group.

    Raises:
        SourceUnavailable: No memory controller covers this process.
    """

    what = "memory of the container"
    columns = (
        "cgroup_memory_used_bytes",
        "cgroup_memory_limit_bytes",
        "cgroup_memory_inactive_file_bytes",
        "cgroup_oom_kills",
    )

    def __init__(self, watched: Watched) -> None:
        self._groups = groups_of(
            watched, "memory", v1=_NAMES[1].used, v2=_NAMES[2].used
        )
        self._names = _NAMES[self._groups.version]

    def collect(self) -> Mapping[str, float]:
        names = self._names
        limit, tightest = self._groups.tightest(self._limit)
        own = self._groups.folders[0]
        stat = parse_numbers(read(tightest / "memory.stat"), (names.inactive_file,))
        return measured(
            cgroup_memory_used_bytes=parse_number(read(tightest / names.used)),
            cgroup_memory_limit_bytes=limit,
            cgroup_memory_inactive_file_bytes=stat.get(names.inactive_file),
            cgroup_oom_kills=parse_oom_kills(read(own / names.kills)),
        )

    def _limit(self, folder: Path) -> int | None:
        return parse_limit(read(folder / self._names.limit))


def parse_limit(text: str) -> int | None:
    limit = parse_number(text)
    return None if limit is None or limit >= _V1_UNLIMITED else limit


def parse_oom_kills(text: str) -> int | None:
    """The `oom_kill` line of memory.events (v2) or memory.oom_control (v1)."""
    return parse_numbers(text, ("oom_kill",)).get("oom_kill")


COLLECTOR = CgroupMemory
