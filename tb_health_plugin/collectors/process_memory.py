"""Physical memory that the training process holds."""

import os
from collections.abc import Mapping

from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.kernel_files import read

# Second field of /proc/<pid>/statm: resident pages.
_RESIDENT = 1


class ProcessMemory:
    """Reads `/proc/<pid>/statm`; asks psutil where there is no `/proc`."""

    what = "memory of the training process"
    columns = ("process_rss_bytes",)

    def __init__(self, watched: Watched) -> None:
        self._pid = watched.pid
        self._file = watched.root / f"proc/{watched.pid}/statm"
        self._has_proc = self._file.exists()
        self._page_bytes = os.sysconf("SC_PAGE_SIZE") if self._has_proc else 0

    def collect(self) -> Mapping[str, float]:
        if self._has_proc:
            fields = read(self._file).split()
            pages = int(fields[_RESIDENT]) if len(fields) > _RESIDENT else 0
            # It has ended, or is about to: nothing to measure, and no fault.
            if not pages:
                return {}
            return {"process_rss_bytes": float(pages * self._page_bytes)}
        import psutil  # noqa: PLC0415 - the watcher stays small without it

        try:
            rss = psutil.Process(self._pid).memory_info().rss
        except psutil.NoSuchProcess:
            return {}
        return {"process_rss_bytes": float(rss)}


COLLECTOR = ProcessMemory
