"""Room left where the run is recorded and where temporary files go."""

import os
from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.collector import (
    SourceUnavailable,
    Watched,
    measured,
)

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
    )

    def __init__(self, watched: Watched) -> None:
        if not hasattr(os, "statvfs"):
            raise SourceUnavailable("the system offers no statvfs()")
        named = (os.environ.get(name) for name in _TEMP_VARIABLES)
        temp = next(filter(None, named), "/tmp")
        self._temp = watched.root / temp.lstrip("/")
        self._logdir = watched.logdir
        self._readings = 0

    def collect(self) -> Mapping[str, float]:
        due = self._readings % _ASK_EVERY == 0
        self._readings += 1
        if not due:
            return {}
        logs = _ask(self._logdir) if self._logdir else None
        temp = _ask(self._temp)
        numbers = measured(
            temp_disk_free_bytes=temp.f_bavail * temp.f_frsize if temp else None
        )
        if logs:
            numbers["logdir_disk_free_bytes"] = float(logs.f_bavail * logs.f_frsize)
            numbers["logdir_disk_total_bytes"] = float(logs.f_blocks * logs.f_frsize)
            # Some file systems, btrfs for one, have no fixed number of inodes.
            if logs.f_files:
                numbers["logdir_disk_free_inodes"] = float(logs.f_favail)
        return numbers


def _ask(path: Path) -> os.statvfs_result | None:
    """None if it is not there (yet), or not on this machine at all."""
    try:
        return os.statvfs(path)
    except OSError:
        return None


COLLECTOR = DiskSpace
