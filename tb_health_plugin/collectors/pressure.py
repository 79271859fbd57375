"""Time that work stood still for want of CPU, memory or disk, on the whole machine.

The kernel calls it PSI. `some` is time in which at least one task waited, `full`
that in which all did. For the CPU of a whole machine only `some` means anything.
"""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.kernel_files import parse_number, read

# File and line in /proc/pressure.
_COLUMNS = {
    ("cpu", "some"): "pressure_cpu_some_seconds",
    ("memory", "some"): "pressure_memory_some_seconds",
    ("memory", "full"): "pressure_memory_full_seconds",
    ("io", "full"): "pressure_io_full_seconds",
}
_TOTAL = "total="
_MICROSECONDS = 1e-6


class Pressure:
    """Reads `/proc/pressure/`.

    Raises:
        SourceUnavailable: The kernel does not measure it.
    """

    what = "time lost waiting for CPU, memory or disk"
    columns = tuple(_COLUMNS.values())

    def __init__(self, watched: Watched) -> None:
        self._folder = watched.root / "proc/pressure"
        # With psi=0 the files are there, but cannot be read.
        if not read(self._folder / "memory"):
            raise SourceUnavailable(
                "the kernel does not measure it; Linux 4.20 and later do, "
                "some only if started with psi=1"
            )

    def collect(self) -> Mapping[str, float]:
        numbers = {}
        for resource in ("cpu", "memory", "io"):
            seconds = parse_pressure(read(self._folder / resource))
            for kind, value in seconds.items():
                if (resource, kind) in _COLUMNS:
                    numbers[_COLUMNS[resource, kind]] = value
        return numbers


def parse_pressure(text: str) -> dict[str, float]:
    """Seconds stood still since the machine started, of `some` and of `full`."""
    seconds = {}
    for line in text.splitlines():
        kind, *words = line.split() or [""]
        for word in words:
            total = parse_number(word.removeprefix(_TOTAL))
            if word.startswith(_TOTAL) and total is not None:
                seconds[kind] = total * _MICROSECONDS
    return seconds


COLLECTOR = Pressure
