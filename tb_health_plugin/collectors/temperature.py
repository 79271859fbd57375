"""The hottest spot of the machine, and how often its CPUs slowed down for heat."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tb_health_plugin.collectors.collector import (
    SourceUnavailable,
    Watched,
    measured,
)
from tb_health_plugin.collectors.kernel_files import parse_number, read

# Some sensors sit behind a slow bus or ask the disk they are in, which takes
# milliseconds; and heat takes its time.
_READ_EVERY = 10
# What a sensor reports that is broken or not connected lies outside of this.
_COLDEST_CELSIUS, _HOTTEST_CELSIUS = -40, 200

_SENSORS = ("thermal/thermal_zone*/temp", "hwmon/hwmon*/temp*_input")
_THROTTLES = "devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"


class Temperature:
    """Reads `/sys/class/thermal`, `/sys/class/hwmon` and the CPUs' own counters.

    Raises:
        SourceUnavailable: The machine shows none of them, as most virtual ones.
    """

    what = "temperature of the machine"
    columns = ("temperature_celsius", "cpu_throttle_count")

    def __init__(self, watched: Watched) -> None:
        sys = watched.root / "sys"
        self._sensors = [p for s in _SENSORS for p in (sys / "class").glob(s)]
        self._throttles = list(sys.glob(_THROTTLES))
        if not self._sensors and not self._throttles:
            raise SourceUnavailable(
                "the machine shows no thermometers; virtual ones mostly do not"
            )
        self._readings = 0

    def collect(self) -> Mapping[str, float]:
        due = self._readings % _READ_EVERY == 0
        self._readings += 1
        if not due:
            return {}
        counts = _numbers(self._throttles)
        return measured(
            temperature_celsius=hottest_celsius(_numbers(self._sensors)),
            cpu_throttle_count=sum(counts) if counts else None,
        )


def hottest_celsius(millidegrees: Iterable[int]) -> float | None:
    """The highest plausible one."""
    celsius = (number / 1000 for number in millidegrees)
    plausible = (c for c in celsius if _COLDEST_CELSIUS < c < _HOTTEST_CELSIUS)
    return max(plausible, default=None)


def _numbers(files: Iterable[Path]) -> list[int]:
    numbers = (parse_number(read(file)) for file in files)
    return [number for number in numbers if number is not None]


COLLECTOR = Temperature
