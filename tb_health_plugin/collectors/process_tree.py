"""What the trainer and all its descendants use together, data loaders included."""

import os
import time
from collections.abc import Callable, Mapping

from tb_health_plugin.collectors.collector import Watched, measured
from tb_health_plugin.collectors.kernel_files import parse_numbers, read
from tb_health_plugin.collectors.process_stat import Stat, descendants, parse_stat
from tb_health_plugin.collectors.rising import Rising

# A child is listed at the thread that started it, and a trainer has hundreds. One
# that comes and goes in between still leaves its CPU time with its parent.
_LOOK_FOR_CHILDREN_EVERY = 10
# The kernel walks all pages for it: about 10 ms per GiB.
_PSS_EVERY = 30
# So a huge process is asked more rarely: with a reading each second, the walk takes
# 0.05 % of a core at most.
_READINGS_PER_PSS_SECOND = 2000

_READ, _WRITTEN = "read_bytes", "write_bytes"


class ProcessTree:
    """Reads `/proc/<pid>/` of each process; asks psutil where there is no `/proc`.

    A process that vanishes between being listed and being read is left out. The
    watcher, perhaps a child of the trainer itself, is not counted.

    Args:
        watched: The process at the top.
        clock: Seconds; never jumps.
    """

    what = "the training process and its children"
    columns = (
        "tree_processes",
        "tree_rss_bytes",
        "tree_pss_bytes",
        "tree_cpu_seconds",
        "tree_read_bytes",
        "tree_write_bytes",
    )

    def __init__(
        self, watched: Watched, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._pid = watched.pid
        self._proc = watched.root / "proc"
        self._has_proc = (self._proc / f"{watched.pid}/stat").exists()
        if self._has_proc:
            self._page_bytes = os.sysconf("SC_PAGE_SIZE")
            self._tick_seconds = 1 / os.sysconf("SC_CLK_TCK")
        self._clock = clock
        self._readings = 0
        self._next_pss = 0
        self._pids = [watched.pid]
        self._cpu, self._read, self._written = Rising(), Rising(), Rising()

    def collect(self) -> Mapping[str, float]:
        if not self._has_proc:
            return self._ask_psutil()
        stats = self._stats()
        # The trainer has ended: what is left of its tree belongs to nobody.
        if not stats:
            return {}
        alive = [stat for stat in stats if not stat.ended]
        read_bytes, written_bytes = self._io()
        numbers = measured(
            tree_processes=len(alive),
            tree_rss_bytes=self._page_bytes * sum(s.resident_pages for s in alive),
            tree_pss_bytes=self._pss() if self._readings >= self._next_pss else None,
            tree_cpu_seconds=self._cpu(
                self._tick_seconds * sum(s.cpu_ticks for s in stats)
            ),
            tree_read_bytes=read_bytes,
            tree_write_bytes=written_bytes,
        )
        self._readings += 1
        return numbers

    def _stats(self) -> list[Stat]:
        """Of the trainer and the rest of the tree; empty without the trainer."""
        trainer = parse_stat(read(f"{self._proc}/{self._pid}/stat"))
        if trainer is None:
            return []
        if self._readings % _LOOK_FOR_CHILDREN_EVERY == 0:
            below = descendants(self._proc, self._pid, leave_out=os.getpid())
            self._pids = [self._pid, *below]
        # Parents come first: a child that ends in between is then missed for once,
        # not counted twice, and `Rising` evens that out.
        below = self._pids[1:]
        stats = (parse_stat(read(f"{self._proc}/{pid}/stat")) for pid in below)
        return [trainer, *(stat for stat in stats if stat is not None)]

    def _io(self) -> tuple[float | None, float | None]:
        """Bytes from and to disks. Like CPU time, those of the ended are included."""
        files = (f"{self._proc}/{pid}/io" for pid in self._pids)
        counts = [parse_numbers(read(file), (_READ, _WRITTEN)) for file in files]
        known = [c for c in counts if len(c) == 2]
        if not known:
            return None, None
        return (
            self._read(sum(c[_READ] for c in known)),
            self._written(sum(c[_WRITTEN] for c in known)),
        )

    def _pss(self) -> float | None:
        began = self._clock()
        files = (f"{self._proc}/{pid}/smaps_rollup" for pid in self._pids)
        kib = [n for f in files for n in parse_numbers(read(f), ("Pss",)).values()]
        rest = int((self._clock() - began) * _READINGS_PER_PSS_SECOND)
        self._next_pss = self._readings + max(_PSS_EVERY, rest)
        return sum(kib) * 1024 if kib else None

    def _ask_psutil(self) -> Mapping[str, float]:
        import psutil  # noqa: PLC0415 - the watcher stays small without it

        alive, rss_bytes, cpu_seconds = 0, 0, 0.0
        try:
            trainer = psutil.Process(self._pid)
            tree = [trainer, *trainer.children(recursive=True)]
        except psutil.Error:
            return {}
        for process in tree:
            if process.pid == os.getpid() != self._pid:
                continue
            try:
                rss_bytes += process.memory_info().rss
                # User and system time, and those of children that ended.
                cpu_seconds += sum(process.cpu_times()[:4])
            except psutil.Error:
                continue
            alive += 1
        return measured(
            tree_processes=alive,
            tree_rss_bytes=rss_bytes,
            tree_cpu_seconds=self._cpu(cpu_seconds),
        )


COLLECTOR = ProcessTree
