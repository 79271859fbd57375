"""Numbers without a unit, factors and lists, in words."""

import math


def short(value: float) -> str:
    """A number in a few characters: 0.00123, 3.2, 1,234, 2e+09, NaN."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-3:
        digits, _, power = f"{value:.0e}".partition("e")
        return f"{digits}e{int(power)}"
    return f"{value:,.0f}" if size >= 1_000 else f"{value:.3g}"


def times(factor: float) -> str:
    """A factor: 3.2x, 45x, 1,200x, 1e9x."""
    return f"{short(factor)}x" if factor < 10 else f"{short(float(f'{factor:.2g}'))}x"


def names(found: list[str], most: int = 3) -> str:
    """A list in words; a long one is cut."""
    if len(found) > most:
        rest = len(found) - most
        return f"{', '.join(found[:most])} and {rest:,} more"
    if len(found) > 1:
        return f"{', '.join(found[:-1])} and {found[-1]}"
    return "".join(found)


def looks(count: int) -> str:
    return "1 look" if count == 1 else f"{count:,} looks"


def cut(text: str, longest: int) -> str:
    """A text that fits; a longer one ends after a whole word, and says so."""
    if len(text) <= longest:
        return text
    whole = text[:longest].rsplit(" ", 1)[0]
    return f"{whole.rstrip(' ,;:(')}…"
