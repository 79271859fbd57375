"""Room left where the run is recorded, is saved, and has its temporary files."""

import os
from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched

# Asking a network file system is a question over the network; if its server is dead
# the answer may never come, and the watcher hangs with it. So it is asked rarely.
_ASK_EVERY = 5
# Where Python and most programs look, in their order.
_TEMP_VARIABLES = ("TMPDIR", "TEMP", "TMP")


class DiskSpace:
    """Asks the file systems for the room that an ordinary user may still fill.

    A quota of the user or of a directory is seen only where the file system counts
    it in, as XFS does for directories; most do not.

    Raises:
        SourceUnavailable: The system has no `statvfs`.
    """

    what = "free disk space"
    columns = (
        "logdir_disk_free_bytes",
        "logdir_disk_total_bytes",
        "logdir_disk_free_inodes",
        "temp_disk_free_bytes",
        "temp_disk_free_inodes",
        "save_disk_free_bytes",
        "save_disk_total_bytes",
        "save_disk_free_inodes",
    )

    def __init__(self, watched: Watched) -> None:
        if not hasattr(os, "statvfs"):
            raise SourceUnavailable("the system offers no statvfs()")
        temp = watched.temp or temp_directory()
        self._places: dict[str, Path | None] = {
            "logdir": watched.logdir,
            "temp": watched.root / temp.lstrip("/"),
            "save": None,
        }
        self._readings = 0

    def saves_into(self, folder: Path) -> None:
        """The training saved its model there."""
        self._places["save"] = folder

    def collect(self) -> Mapping[str, float]:
        due = self._readings % _ASK_EVERY == 0
        self._readings += 1
        if not due:
            return {}
        numbers: dict[str, float] = {}
        for place, path in self._places.items():
            found = _ask(path) if path else None
            if found is None:
                continue
            numbers[f"{place}_disk_free_bytes"] = float(found.f_bavail * found.f_frsize)
            numbers[f"{place}_disk_total_bytes"] = float(
                found.f_blocks * found.f_frsize
            )
            # Some file systems, btrfs for one, have no fixed number of inodes.
            if found.f_files:
                numbers[f"{place}_disk_free_inodes"] = float(found.f_favail)
        return {name: value for name, value in numbers.items() if name in self.columns}


def temp_directory() -> str:
    """Where temporary files of this process go."""
    named = (os.environ.get(name) for name in _TEMP_VARIABLES)
    return next(filter(None, named), "/tmp")


def _ask(path: Path) -> os.statvfs_result | None:
    """None if it is not there (yet), or not on this machine at all."""
    try:
        return os.statvfs(path)
    except OSError:
        return None


COLLECTOR = DiskSpace
