"""Counts kills for memory before and after: anyone can send SIGKILL."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# A kill is counted just before the process dies of it, and the look before the last
# may already show it.
WINDOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Counts:
    at: float
    machine: int | None
    groups: dict[Path, int]


class OomKills:
    """Counts the kills of the last seconds.

    Args:
        pid: A process of the groups to look at.
        root: Stands in for `/` in tests.
    """

    def __init__(self, pid: int, *, root: Path = Path("/")) -> None:
        self._vmstat = root / "proc/vmstat"
        # The groups of a process are found by it, but outlive it.
        self._files = tuple(_group_files(pid, root))
        self._seen: deque[_Counts] = deque()

    def look(self, now: float) -> None:
        """Remembers the counters of this moment."""
        groups = {path: _count(path) for path in self._files}
        known = {path: count for path, count in groups.items() if count is not None}
        self._seen.append(_Counts(now, _count(self._vmstat), known))
        while len(self._seen) > 2 and self._seen[1].at < now - WINDOW_SECONDS:
            self._seen.popleft()

    def on_the_machine(self) -> int | None:
        """Kills on the whole machine; None if nobody counts them."""
        first, last = self._seen[0].machine, self._seen[-1].machine
        return None if first is None or last is None else last - first

    def in_the_groups(self) -> int | None:
        """Kills in the process' group or an ancestor of it; None if nobody counts."""
        first, last = self._seen[0].groups, self._seen[-1].groups
        rises = [last[path] - first[path] for path in first if path in last]
        return max(rises, default=None)


def _count(path: Path) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return None


def _group_files(pid: int, root: Path) -> Iterator[Path]:
    try:
        lines = (root / f"proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return
    mount = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for part in (PurePosixPath(path), *PurePosixPath(path).parents):
            folder = str(part).lstrip("/")
            if "memory" in controllers.split(","):
                yield mount / "memory" / folder / "memory.oom_control"
            elif controllers == "":
                yield mount / folder / "memory.events"
