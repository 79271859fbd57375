"""The lanes of a run's timeline as lines of bars."""

import math
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tb_health_plugin.cli.sparkline import sparkline
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.quantities import duration, size
from tb_health_plugin.reading.downsample import downsample
from tb_health_plugin.reading.run_history import RunHistory
from tb_health_plugin.server.lanes import DrawnLane, drawn_lanes

_TITLE = 18
_RANGE = 24
_NARROWEST = 10


def draw_lanes(history: RunHistory, console: Console) -> Iterator[Text]:
    """A line per lane and series: title, bars, and lowest to highest."""
    plain = not console.encoding.lower().startswith("utf")
    width = max(_NARROWEST, console.width - _TITLE - _RANGE - 2)
    for drawn in drawn_lanes(history).values():
        for column, values in _series(drawn, width):
            title = _title(drawn, column)[: _TITLE - 1]
            yield Text.assemble(
                (f"{title:{_TITLE}}", "dim"),
                (f"{sparkline(values, plain=plain):{width}}", "cyan"),
                f"  {_range(values, drawn.lane.unit)}",
                no_wrap=True,
                overflow="ellipsis",
            )


def _title(drawn: DrawnLane, column: str) -> str:
    """Of the lane, with the name of the series if there are several; or that alone."""
    lane, series = drawn.lane.title, drawn.lane.series[column]
    if len(drawn.columns) == 1:
        return lane
    both = f"{lane}: {series}"
    return both if len(both) < _TITLE else series


def _series(drawn: DrawnLane, buckets: int) -> Iterator[tuple[str, list[float | None]]]:
    points = downsample(
        drawn.table,
        drawn.columns,
        axis="time",
        begin=-math.inf,
        end=math.inf,
        buckets=buckets,
        period_seconds=drawn.period_seconds,
    )
    for column, line in points.lines.items():
        # The highest of each bucket: a spike must not be averaged away. Gaps make a
        # line longer than asked for; the newest end counts.
        yield column, line.high[-buckets:]


# Of units that are written with a whole number.
_SYMBOLS = {"celsius": "°C", "watts": "W"}


def _range(values: list[float | None], unit: str) -> str:
    finite = [v for v in values if v is not None and math.isfinite(v)]
    if not finite:
        return "no finite number"
    low, high = _value(min(finite), unit), _value(max(finite), unit)
    return low if low == high else f"{low} to {high}"


def _value(value: float, unit: str) -> str:
    if unit == "bytes":
        return size(value)
    if unit == "seconds":
        return duration(value)
    if unit == "fraction":
        return f"{value:.0%}"
    if unit in _SYMBOLS:
        return f"{value:.0f} {_SYMBOLS[unit]}"
    return short(value) + ("/s" if unit == "per_second" else "")
