"""How wide layers have to be for steps that last as long as a workload says.

Promises are made for steps of about 1 ms and about 50 ms. A fixed model takes half of
that on one machine and twice that on another.
"""

from collections.abc import Callable

# A step counts as long enough from this share of the wanted time on.
ENOUGH = 0.8
# Each try is that much wider; multiples of 8 suit the processor.
_WIDER, _MULTIPLE = 1.3, 8
_MOST_TRIES = 12


def width_for(
    wanted_ms: float, width: int, step_ms: Callable[[int], float]
) -> tuple[int, float]:
    """The least width tried whose steps take about as long as wanted, and how long.

    Args:
        wanted_ms: How long steps are to take.
        width: Where to begin; never less.
        step_ms: Measures how long a step takes at a width.
    """
    took = step_ms(width)
    for _ in range(_MOST_TRIES):
        if took >= ENOUGH * wanted_ms:
            break
        width = round(width * _WIDER / _MULTIPLE) * _MULTIPLE
        took = step_ms(width)
    return width, took
