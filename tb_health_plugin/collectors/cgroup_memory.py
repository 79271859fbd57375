"""Memory of the trainer's control group: in use, allowed, and kills for want of it.

The kernel's own files are read, not the machine's totals: inside a container the
kill comes at the container's limit. A limit may sit on any ancestor, so all are
looked at and the tightest one counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched

# cgroup v1 has no word for "no limit"; it reports the largest page-aligned int64.
_V1_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class _Group:
    used: Path
    limit: Path
    kills: Path


class CgroupMemory:
    """Reads the memory controller, v1 or v2, of the process' group.

    Raises:
        SourceUnavailable: No memory controller covers this process.
    """

    what = "memory of the container"
    columns = (
        "cgroup_memory_used_bytes",
        "cgroup_memory_limit_bytes",
        "cgroup_oom_kills",
    )

    def __init__(self, watched: Watched) -> None:
        self._groups = tuple(_groups(watched.pid, watched.root))
        if not self._groups:
            raise SourceUnavailable(
                f"no memory controller covers process {watched.pid}"
            )

    def collect(self) -> Mapping[str, float]:
        limits = [
            (parse_limit(group.limit.read_text()), group)
            for group in self._groups
            if group.limit.exists()
        ]
        limited = [(limit, group) for limit, group in limits if limit is not None]
        limit, tightest = min(
            limited, key=lambda pair: pair[0], default=(None, self._groups[0])
        )
        numbers = {
            "cgroup_memory_used_bytes": float(tightest.used.read_text()),
            "cgroup_oom_kills": float(parse_oom_kills(tightest.kills.read_text())),
        }
        if limit is not None:
            numbers["cgroup_memory_limit_bytes"] = float(limit)
        return numbers


def parse_limit(text: str) -> int | None:
    if text.strip() == "max" or int(text) >= _V1_UNLIMITED:
        return None
    return int(text)


def parse_oom_kills(text: str) -> int:
    """The `oom_kill` line of memory.events (v2) or memory.oom_control (v1)."""
    counters = dict(line.split() for line in text.splitlines())
    return int(counters.get("oom_kill", 0))


def _groups(pid: int, root: Path) -> Iterator[_Group]:
    """The memory groups of a process, from its own up to the top."""
    membership = root / f"proc/{pid}/cgroup"
    if not membership.exists():
        return
    mount = root / "sys/fs/cgroup"
    for line in membership.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            base = mount / "memory"
            names = ("usage_in_bytes", "limit_in_bytes", "oom_control")
        elif controllers == "":
            base, names = mount, ("current", "max", "events")
        else:
            continue
        # A container may see its own group as the top: a path that is not there
        # leaves the mount itself, which then is the group.
        for part in (PurePosixPath(path), *PurePosixPath(path).parents):
            folder = base / str(part).lstrip("/")
            used, limit, kills = (folder / f"memory.{name}" for name in names)
            if used.exists() and kills.exists():
                yield _Group(used, limit, kills)


COLLECTOR = CgroupMemory
