"""Processes killed for want of memory, and swapping, on the whole machine."""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.kernel_files import parse_numbers

# Kernels before 4.13 do not count kills; those without swap count no swapping.
_COLUMNS = {
    "oom_kill": "machine_oom_kills",
    "pswpin": "machine_swap_in_pages",
    "pswpout": "machine_swap_out_pages",
}


class OomCounters:
    """Reads `/proc/vmstat`, which tells of the machine inside a container too.

    Raises:
        SourceUnavailable: This is not Linux.
    """

    what = "memory kills and swapping of the machine"
    columns = tuple(_COLUMNS.values())

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/vmstat"
        if not self._file.exists():
            raise SourceUnavailable("only Linux counts them, in /proc/vmstat")

    def collect(self) -> Mapping[str, float]:
        return parse_vmstat(self._file.read_text())


def parse_vmstat(text: str) -> dict[str, float]:
    counts = parse_numbers(text, _COLUMNS)
    return {_COLUMNS[name]: float(count) for name, count in counts.items()}


COLLECTOR = OomCounters
