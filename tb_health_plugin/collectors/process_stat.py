"""What `/proc/<pid>/stat` tells of a process, and who its descendants are."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.collectors.kernel_files import read

# Fields counted from the state, which follows the name, as `man 5 proc` has them.
_STATE, _PARENT, _MAJOR_FAULTS = 0, 1, 9
_CPU = slice(11, 15)  # own user and system time, and those of children waited for
_THREADS, _RESIDENT_PAGES = 17, 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One process at one moment.

    Attributes:
        ended: Whether it only waits for its parent to take notice.
        parent: Process id of the parent.
        major_faults: Page faults that had to wait for a disk.
        cpu_ticks: CPU time of it and of the children that ended and were waited for.
        threads: How many it has.
        resident_pages: Physical memory.
    """

    ended: bool
    parent: int
    major_faults: int
    cpu_ticks: int
    threads: int
    resident_pages: int


def parse_stat(text: str) -> Stat | None:
    """None if the text is not what the kernel writes; a name may hold anything."""
    fields = text.rpartition(")")[2].split()
    try:
        return Stat(
            ended=fields[_STATE] in "ZXx",
            parent=int(fields[_PARENT]),
            major_faults=int(fields[_MAJOR_FAULTS]),
            cpu_ticks=sum(map(int, fields[_CPU])),
            threads=int(fields[_THREADS]),
            resident_pages=int(fields[_RESIDENT_PAGES]),
        )
    except (IndexError, ValueError):
        return None


def descendants(proc: Path, pid: int, *, leave_out: int) -> list[int]:
    """All processes below one, parents before their children.

    Args:
        proc: The `/proc` to look in.
        pid: The process whose children, and theirs, are wanted.
        leave_out: A process to skip with all below it: the one that watches.
    """
    # Kernels built without CONFIG_PROC_CHILDREN do not have the file.
    listed = (proc / f"{pid}/task/{pid}/children").exists()
    parents = {} if listed else _parents(proc)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop(0)
        children = _children(proc, parent) if listed else parents.get(parent, [])
        known = {pid, leave_out, *found}
        new = [child for child in children if child not in known]
        found += new
        waiting += new
    return found


def _children(proc: Path, pid: int) -> Iterator[int]:
    """A child is listed at the thread that started it, and any thread may have."""
    folder = f"{proc}/{pid}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return
    for thread in threads:
        yield from map(int, read(f"{folder}/{thread}/children").split())


def _parents(proc: Path) -> dict[int, list[int]]:
    """The children of every process of the machine."""
    children: dict[int, list[int]] = {}
    for folder in proc.iterdir():
        if folder.name.isdecimal() and (stat := parse_stat(read(folder / "stat"))):
            children.setdefault(stat.parent, []).append(int(folder.name))
    return children
