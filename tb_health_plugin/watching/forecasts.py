"""Watches what may run out: memory, disk and file handles."""

import time
from collections.abc import Callable, Mapping

from tb_health_plugin.events import facts
from tb_health_plugin.watching.forecast import Estimate, Forecast
from tb_health_plugin.writing.scribe import Scribe

Numbers = Mapping[str, float]


def memory_held(numbers: Numbers) -> float | None:
    """What the limit counts: the group without its page cache, or the process."""
    if "cgroup_memory_limit_bytes" in numbers:
        used = numbers.get("cgroup_memory_used_bytes")
        cache = numbers.get("cgroup_memory_inactive_file_bytes", 0.0)
        return None if used is None else used - cache
    return numbers.get("process_rss_bytes")


def _memory(numbers: Numbers) -> tuple[float, float] | None:
    limit = numbers.get("cgroup_memory_limit_bytes")
    if limit is not None:
        held = memory_held(numbers)
    else:
        limit = numbers.get("host_memory_total_bytes")
        held = numbers.get("host_memory_used_bytes")
    return None if limit is None or held is None else (held, limit)


def _disk(numbers: Numbers, place: str = "logdir") -> tuple[float, float] | None:
    total = numbers.get(f"{place}_disk_total_bytes")
    free = numbers.get(f"{place}_disk_free_bytes")
    return None if total is None or free is None else (total - free, total)


def _save_disk(numbers: Numbers) -> tuple[float, float] | None:
    """Of the checkpoints, unless that is the one of the log directory."""
    found = _disk(numbers, "save")
    return None if found == _disk(numbers) else found


def _handles(numbers: Numbers) -> tuple[float, float] | None:
    used, limit = numbers.get("process_fds"), numbers.get("process_fd_limit")
    return None if used is None or limit is None else (used, limit)


_READERS: dict[str, Callable[[Numbers], tuple[float, float] | None]] = {
    "memory": _memory,
    "the disk of the log directory": _disk,
    "the disk of the checkpoints": _save_disk,
    "file handles": _handles,
}


class Forecasts:
    """Tells, as an incident, when one of them will reach its limit."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self._forecasts = {what: Forecast(what) for what in _READERS}
        # Limits are sampled more rarely than what they limit.
        self._known: dict[str, float] = {}

    def look(self, now: float) -> None:
        self._known.update(self._scribe.numbers)
        for what, read in _READERS.items():
            found = read(self._known)
            estimate = self._forecasts[what].add(now, *found) if found else None
            if estimate is not None:
                self._tell(what, estimate)

    def _tell(self, what: str, estimate: Estimate) -> None:
        self._scribe.write(
            facts.Incident(
                wall_time=time.time(),
                step=self._scribe.step,
                kind="forecast",
                severity="warning",
                message=(
                    f"Use of {what} is growing and will reach its limit in about "
                    f"{_minutes(estimate.seconds)} "
                    f"({_minutes(estimate.earliest_seconds)} to "
                    f"{_minutes(estimate.latest_seconds)})"
                ),
            )
        )


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min"
