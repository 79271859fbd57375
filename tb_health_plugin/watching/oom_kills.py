"""Counts kills for memory in the last seconds: anyone can send SIGKILL."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.collectors.cgroups import groups_of
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.kernel_files import read

# A kill is counted just before the process dies of it, and the look before the last
# may already show it.
WINDOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Counts:
    at: float
    machine: int | None
    group: int | None


class OomKills:
    """Counts the kills of the last seconds.

    The counter of the process' own group is the one that counts: the kernel raises
    it for every victim in that group, whichever limit was hit. Counters of the
    groups above hold the kills of strangers, too.
    """

    def __init__(self, watched: Watched) -> None:
        self._vmstat = watched.root / "proc/vmstat"
        # The group is found by the process, but outlives it.
        self._group = _group_file(watched)
        self._seen: deque[_Counts] = deque()

    def look(self, now: float) -> None:
        """Remembers the counters of this moment."""
        group = _count(self._group) if self._group else None
        self._seen.append(_Counts(now, _count(self._vmstat), group))
        while len(self._seen) > 2 and self._seen[1].at < now - WINDOW_SECONDS:
            self._seen.popleft()

    def on_the_machine(self) -> int | None:
        """Kills on the whole machine; None if nobody counts them."""
        return _rise(self._seen[0].machine, self._seen[-1].machine)

    def in_the_group(self) -> int | None:
        """Kills in the process' own group; None if nobody counts them."""
        return _rise(self._seen[0].group, self._seen[-1].group)


def _group_file(watched: Watched) -> Path | None:
    try:
        groups = groups_of(
            watched, "memory", v1="memory.oom_control", v2="memory.events"
        )
    except SourceUnavailable:
        return None
    name = "memory.oom_control" if groups.version == 1 else "memory.events"
    return groups.folders[0] / name


def _count(path: Path) -> int | None:
    for line in read(path).splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return None


def _rise(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
