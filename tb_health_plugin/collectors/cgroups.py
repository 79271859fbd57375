"""Finds the control groups that rule a process, from its own up to the top.

Machines have version 1 (one tree per controller), version 2 (one tree for all) or
both at once, where each controller is in one of them alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.kernel_files import read


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one process for one controller.

    Attributes:
        version: 1 or 2; they name their files differently.
        folders: The group of the process first, then its ancestors. Never empty.
    """

    version: int
    folders: tuple[Path, ...]

    def tightest(
        self, limit_of: Callable[[Path], float | None]
    ) -> tuple[float | None, Path]:
        """The lowest limit and its group; the process' own group if there is none.

        Of equal limits the outer one counts: it holds at least as much.
        """
        lowest, group = None, self.folders[0]
        for folder in self.folders:
            limit = limit_of(folder)
            if limit is not None and (lowest is None or limit <= lowest):
                lowest, group = limit, folder
        return lowest, group


def groups_of(watched: Watched, controller: str, *, v1: str, v2: str) -> Groups:
    """The groups of the watched process that a controller rules.

    Args:
        watched: The process.
        controller: As the kernel calls it: `memory`, `cpu`, `pids`.
        v1: A file that a group has only if version 1 of the controller rules it.
        v2: The same for version 2.

    Raises:
        SourceUnavailable: No group of the process is ruled by the controller.
    """
    found = _membership(read(watched.root / f"proc/{watched.pid}/cgroup"), controller)
    if found is not None:
        version, path = found
        top = _mount(watched.root / "sys/fs/cgroup", controller, version)
        marker = v1 if version == 1 else v2
        folders = tuple(f for f in _upwards(top, path) if (f / marker).exists())
        if folders:
            return Groups(version, folders)
    raise SourceUnavailable(
        f"no {controller} control group covers process {watched.pid}"
    )


def _membership(text: str, controller: str) -> tuple[int, str] | None:
    """Version and path of the group, from the text of /proc/<pid>/cgroup."""
    unified = None
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return 1, path
        if line.startswith("0::"):
            unified = path
    return None if unified is None else (2, unified)


def _mount(cgroup: Path, controller: str, version: int) -> Path:
    """Where the tree is: each of these places is some distribution's habit."""
    if version == 2:
        unified = cgroup / "unified"
        return unified if unified.is_dir() else cgroup
    alone = cgroup / controller
    if alone.is_dir() or not cgroup.is_dir():
        return alone
    # Controllers may share a tree, as in `cpu,cpuacct`, in any order.
    shared = (p for p in cgroup.iterdir() if controller in p.name.split(","))
    return next(shared, alone)


def _upwards(top: Path, path: str) -> Iterator[Path]:
    """The folder of a group and those above it, as far as they are visible."""
    parts = PurePosixPath(path).parts[1:]
    # A process outside of what our namespace shows; nothing above it is ours.
    if ".." in parts:
        return
    # A container may see its own group as the top, under a path that counts from
    # the machine's: the leading parts then lead nowhere.
    while parts and not top.joinpath(*parts).is_dir():
        parts = parts[1:]
    for depth in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:depth])
