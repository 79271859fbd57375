"""Durations as people say them."""

# Below two of a unit the smaller one is clearer.
_UNITS = ((7_200, 3_600, "h", "hours"), (120, 60, "min", "minutes"))


def precise(seconds: float) -> str:
    return f"{seconds * 1_000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def words(seconds: float) -> str:
    for least, unit, _, name in _UNITS:
        if seconds >= least:
            return f"{seconds // unit:,.0f} {name}"
    return f"{seconds:.0f} seconds"


def short(seconds: float) -> str:
    for least, unit, short, _ in _UNITS:
        if seconds >= least:
            return f"{seconds // unit:,.0f} {short}"
    return f"{seconds:.0f} s"
