"""Bytes, seconds, cores and factors as people read them."""

_GIB = 1 << 30
_MIB = 1 << 20


def size(count: float) -> str:
    """As in "1.5 GiB", "320 MiB" or "12 KiB"."""
    if abs(count) >= _GIB:
        return f"{count / _GIB:,.1f} GiB"
    if abs(count) >= 10 * _MIB:
        return f"{count / _MIB:,.0f} MiB"
    if abs(count) >= _MIB:
        return f"{count / _MIB:,.1f} MiB"
    return f"{count / 1024:,.0f} KiB"


def duration(seconds: float) -> str:
    """As in "4 ms", "2.5 s", "12 min" or "3.1 hours"."""
    if seconds < 0.01:
        return f"{seconds * 1_000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} hours"


def cores(number: float) -> str:
    """As in "1.8 cores" or "5% of a core"."""
    return f"{number:.1f} cores" if number >= 1 else f"{number:.0%} of a core"


def factor(number: float) -> str:
    """As in "3.7" or "31", to be followed by "times"."""
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"
