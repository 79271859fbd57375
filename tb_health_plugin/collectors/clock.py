"""Whether the clock was set or the machine slept, which look like a hang in a log.

Set beside a clock that nobody can set, the wall clock's offset stays the same but for
a little drift; a step in it is a jump. Sleep is what a second such clock leaves out.
"""

import time
from collections.abc import Callable, Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched


class Clock:
    """Compares the system's three clocks.

    Args:
        watched: Not needed; clocks belong to the machine.
        read: The time of a clock, given its number in `time`.

    Raises:
        SourceUnavailable: The system has no clock that goes on during sleep.
    """

    what = "jumps of the clock and sleep of the machine"
    columns = ("clock_offset_seconds", "suspended_seconds")

    def __init__(
        self,
        watched: Watched,
        *,
        read: Callable[[int], float] | None = None,
    ) -> None:
        if not hasattr(time, "CLOCK_BOOTTIME"):
            raise SourceUnavailable("only Linux has a clock that counts sleep")
        self._read = read or time.clock_gettime

    def collect(self) -> Mapping[str, float]:
        # In this order the time between two looks never makes sleep negative.
        awake = self._read(time.CLOCK_MONOTONIC)
        since_boot = self._read(time.CLOCK_BOOTTIME)
        wall = self._read(time.CLOCK_REALTIME)
        return {
            "clock_offset_seconds": wall - since_boot,
            "suspended_seconds": since_boot - awake,
        }


COLLECTOR = Clock
