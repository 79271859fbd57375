"""Memory and swap of the whole machine."""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import Watched

# Name in /proc/meminfo, counted in KiB there.
_TOTAL, _AVAILABLE = "MemTotal", "MemAvailable"
_SWAP_TOTAL, _SWAP_FREE = "SwapTotal", "SwapFree"


class HostMemory:
    """Reads `/proc/meminfo`; asks psutil where there is no `/proc`."""

    what = "memory of the machine"
    columns = (
        "host_memory_total_bytes",
        "host_memory_used_bytes",
        "host_swap_total_bytes",
        "host_swap_used_bytes",
    )

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/meminfo"
        self._has_proc = self._file.exists()

    def collect(self) -> Mapping[str, float]:
        if self._has_proc:
            return parse_meminfo(self._file.read_text())
        import psutil  # noqa: PLC0415 - the watcher stays small without it

        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        used = memory.total - memory.available
        numbers = (memory.total, used, swap.total, swap.used)
        return dict(zip(self.columns, map(float, numbers), strict=True))


def parse_meminfo(text: str) -> dict[str, float]:
    kib = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in (_TOTAL, _AVAILABLE, _SWAP_TOTAL, _SWAP_FREE):
            kib[name] = float(rest.split()[0])
    numbers = {"host_memory_total_bytes": kib[_TOTAL] * 1024}
    # Kernels before 3.14 do not estimate what is available.
    if _AVAILABLE in kib:
        used_kib = kib[_TOTAL] - kib[_AVAILABLE]
        numbers["host_memory_used_bytes"] = used_kib * 1024
    if _SWAP_TOTAL in kib and _SWAP_FREE in kib:
        numbers["host_swap_total_bytes"] = kib[_SWAP_TOTAL] * 1024
        numbers["host_swap_used_bytes"] = (kib[_SWAP_TOTAL] - kib[_SWAP_FREE]) * 1024
    return numbers


COLLECTOR = HostMemory
