"""What the training process alone may run out of: threads, files, memory in RAM."""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import Watched, measured
from tb_health_plugin.collectors.kernel_files import parse_number, parse_numbers, read
from tb_health_plugin.collectors.process_stat import parse_stat

# The kernel makes an entry for each open file, and a leak is slow.
_COUNT_FILES_EVERY = 5
# A process hardly ever changes its own limit.
_LIMIT_EVERY = 30
_OPEN_FILES = "Max open files"


class ProcessUsage:
    """Reads `/proc/<pid>/`; asks psutil where there is no `/proc`."""

    what = "threads and open files of the training process"
    columns = (
        "process_threads",
        "process_fds",
        "process_fd_limit",
        "process_swap_bytes",
        "process_major_faults",
    )

    def __init__(self, watched: Watched) -> None:
        self._pid = watched.pid
        self._folder = watched.root / f"proc/{watched.pid}"
        self._has_proc = (self._folder / "stat").exists()
        self._readings = 0

    def collect(self) -> Mapping[str, float]:
        if not self._has_proc:
            return self._ask_psutil()
        stat = parse_stat(read(self._folder / "stat"))
        swap = parse_numbers(read(self._folder / "status"), ("VmSwap",))
        numbers = measured(
            process_threads=stat.threads if stat else None,
            process_fds=self._files() if self._due(_COUNT_FILES_EVERY) else None,
            process_fd_limit=self._limit() if self._due(_LIMIT_EVERY) else None,
            process_swap_bytes=swap["VmSwap"] * 1024 if swap else None,
            process_major_faults=stat.major_faults if stat else None,
        )
        self._readings += 1
        return numbers

    def _due(self, every: int) -> bool:
        return self._readings % every == 0

    def _files(self) -> int | None:
        try:
            return sum(1 for _ in (self._folder / "fd").iterdir())
        except OSError:
            return None

    def _limit(self) -> int | None:
        return parse_open_files_limit(read(self._folder / "limits"))

    def _ask_psutil(self) -> Mapping[str, float]:
        import psutil  # noqa: PLC0415 - the watcher stays small without it

        try:
            process = psutil.Process(self._pid)
            return measured(
                process_threads=process.num_threads(), process_fds=process.num_fds()
            )
        except psutil.Error:
            return {}


def parse_open_files_limit(text: str) -> int | None:
    """The soft limit, which is the one that counts; None if there is none."""
    for line in text.splitlines():
        if line.startswith(_OPEN_FILES):
            words = line.removeprefix(_OPEN_FILES).split()
            return parse_number(words[0]) if words else None
    return None


COLLECTOR = ProcessUsage
