"""Room left on other file systems that the training has files open for writing on.

Event files of a summary writer, logs, caches: TensorFlow tells nobody when they can
no longer be written.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.disk_space import temp_directory

# Asked each second at first, for a small file system fills in seconds, then rarely: a
# question to a network file system whose server is dead may never be answered.
_FIRST_READINGS, _ASK_EVERY = 20, 5
# More open files than this are not gone through.
_MOST_FILES = 512
# A file system that has less when it is first seen cannot fill up any more.
_LEAST_AT_FIRST = 4 << 20


class WrittenFiles:
    """The fullest of those file systems, but for the log's and the temporary files'.

    Raises:
        SourceUnavailable: The system does not show which files a process has open.
    """

    what = "free disk space of open files"
    columns = (
        "files_disk_free_bytes",
        "files_disk_total_bytes",
        "files_disk_free_inodes",
    )

    def __init__(self, watched: Watched) -> None:
        self._process = watched.root / "proc" / str(watched.pid)
        try:
            os.listdir(self._process / "fd")
        except OSError as error:
            raise SourceUnavailable(f"{self._process}/fd cannot be read") from error
        temp = watched.temp or temp_directory()
        self._asked_elsewhere = [watched.root / temp.lstrip("/")]
        if watched.logdir is not None:
            self._asked_elsewhere.append(watched.logdir)
        self._had_room: dict[int, bool] = {}
        self._readings = 0

    def collect(self) -> Mapping[str, float]:
        number, self._readings = self._readings, self._readings + 1
        if number >= _FIRST_READINGS and number % _ASK_EVERY:
            return {}
        fullest: os.statvfs_result | None = None
        for device, path in self._written():
            found = _ask(path)
            if found is None or not found.f_blocks:
                continue
            free = found.f_bavail * found.f_frsize
            if not self._had_room.setdefault(device, free >= _LEAST_AT_FIRST):
                continue
            if fullest is None or free < fullest.f_bavail * fullest.f_frsize:
                fullest = found
        if fullest is None:
            return {}
        numbers = {
            "files_disk_free_bytes": float(fullest.f_bavail * fullest.f_frsize),
            "files_disk_total_bytes": float(fullest.f_blocks * fullest.f_frsize),
        }
        if fullest.f_files:
            numbers["files_disk_free_inodes"] = float(fullest.f_favail)
        return numbers

    def _written(self) -> Iterator[tuple[int, str]]:
        """A file that is open for writing, for each of these file systems."""
        known = {_device(path) for path in self._asked_elsewhere}
        try:
            names = os.listdir(f"{self._process}/fd")[:_MOST_FILES]
        except OSError:
            return
        for name in names:
            path = f"{self._process}/fd/{name}"
            try:
                told = os.stat(path)
                if told.st_dev in known or not stat.S_ISREG(told.st_mode):
                    continue
                if _is_for_writing(f"{self._process}/fdinfo/{name}"):
                    known.add(told.st_dev)
                    yield told.st_dev, path
            except (OSError, ValueError):
                # Closed meanwhile.
                continue


def _is_for_writing(info: str) -> bool:
    with Path(info).open() as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name == "flags":
                return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _device(path: Path) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _ask(path: str) -> os.statvfs_result | None:
    try:
        return os.statvfs(path)
    except OSError:
        return None


COLLECTOR = WrittenFiles
