"""Numbers as a line of bars, one character each."""

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.-~=+*#"
GAP = " "
BAD = "!"


def sparkline(
    values: Sequence[float | None],
    *,
    low: float | None = None,
    high: float | None = None,
    plain: bool = False,
) -> str:
    """One character per value: a gap for None, `!` for NaN and infinity.

    Args:
        values: What to draw.
        low: Value of the lowest bar; the lowest of `values` by default.
        high: Value of the highest bar; the highest of `values` by default.
        plain: Draw with ASCII characters alone.
    """
    finite = [v for v in values if v is not None and math.isfinite(v)]
    bottom = min(finite, default=0.0) if low is None else low
    top = max(finite, default=0.0) if high is None else high
    bars = PLAIN_BARS if plain else BARS
    return "".join(_bar(value, bottom, top, bars) for value in values)


def _bar(value: float | None, low: float, high: float, bars: str) -> str:
    if value is None:
        return GAP
    if not math.isfinite(value):
        return BAD
    part = (value - low) / (high - low) if high > low else 0.0
    return bars[min(len(bars) - 1, max(0, int(part * len(bars))))]
