"""Numbers with their units, written as the page writes them."""

import math

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_MINUTE, _HOUR = 60, 3_600


def quantity(unit: str, value: float) -> str:
    """A number with its unit: 5.2 GiB, 12%, 3.1 s, 408/s."""
    if not math.isfinite(value):
        return _not_finite(value)
    if unit == "bytes":
        return size(value)
    if unit == "fraction":
        return f"{value:.0%}"
    if unit == "seconds":
        return duration(value)
    if unit == "per_second":
        return f"{number(value)}/s"
    if unit == "celsius":
        return f"{value:.0f} °C"
    return number(value)


def number(value: float) -> str:
    """Three digits that matter: 0.0123, 3.2, 1,234, 2e9."""
    if not math.isfinite(value):
        return _not_finite(value)
    large = abs(value)
    if large >= 1e6 or 0 < large < 1e-3:
        digits, _, power = f"{value:.1e}".partition("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{value:,.0f}" if large >= 1_000 else f"{value:.3g}"


def size(count: float) -> str:
    """5.2 GiB, 320 MiB, 12 KiB."""
    rest, unit = abs(count), 0
    while rest >= 1023.5 and unit < len(_SIZES) - 1:
        rest /= 1024
        unit += 1
    digits = f"{rest:,.1f}" if unit >= 3 else f"{rest:,.0f}"
    return f"{'-' if count < 0 else ''}{digits} {_SIZES[unit]}"


def duration(seconds: float) -> str:
    """12 ms, 3.1 s, 12 min, 2 h 5 min."""
    if 0 < seconds < 1:
        return f"{seconds * 1_000:.3g} ms"
    if seconds < 90:
        return f"{seconds:.2g} s"
    minutes = round(seconds / _MINUTE)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def stretch(seconds: float) -> str:
    """A duration that says where something is: 47 s, 6 min 47 s, 2 h 5 min."""
    whole = round(seconds)
    if not _MINUTE <= whole < _HOUR:
        return duration(whole)
    minutes, rest = divmod(whole, _MINUTE)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def times(ratio: float) -> str:
    """1.3x, 14x, 1,200x."""
    if ratio < 10:
        return f"{ratio:.1f}x"
    return f"{float(f'{ratio:.2g}'):,.0f}x" if ratio < 1e6 else f"{number(ratio)}x"


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Inf" if value > 0 else "-Inf"
