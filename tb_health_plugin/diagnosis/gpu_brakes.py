"""When a GPU was held back, as its driver says: by heat or by power."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_health_plugin.reading.table import Table

Mask = npt.NDArray[np.bool_]

# Below this the card works on nothing worth a clock.
BUSY = 0.2


@dataclass(frozen=True, slots=True)
class Brake:
    """A reason for low clocks.

    Attributes:
        name: Stable word.
        bits: NVML's bits for it.
        slow: Part of the highest clock below which it costs something.
    """

    name: str
    bits: int
    slow: float


# Slowed down by software, or by the hardware itself: a sixth of the speed is worth a
# fan.
HEAT = Brake("heat", 0x20 | 0x40, 0.85)
# Capped by the power limit, or braked by the supply. Cards at full load run some way
# below their highest clock by design, so that much more must be missing.
POWER = Brake("power", 0x04 | 0x80, 0.6)


def braked(table: Table, gpu: int, brake: Brake) -> tuple[Mask, Mask, float] | None:
    """Where it was held back; None if nobody measured it.

    Returns:
        The samples in which it worked and told its reasons, those of them in which
        this reason held it back, and its highest clock in hertz.
    """
    reasons = table.column(f"gpu{gpu}_throttle_reasons")
    clock = table.column(f"gpu{gpu}_sm_clock_hertz")
    busy = table.column(f"gpu{gpu}_busy_fraction")
    highest = table.column(f"gpu{gpu}_sm_clock_max_hertz")
    highest = highest[np.isfinite(highest)]
    known = np.isfinite(reasons) & np.isfinite(clock) & (reasons >= 0)
    # Where nobody tells how busy it is, a reason is all there is.
    known &= ~(busy < BUSY)
    if not len(highest) or highest[-1] <= 0 or known.sum() < 2:
        return None
    held = known.copy()
    held[known] = (reasons[known].astype(np.int64) & brake.bits) != 0
    held &= clock < brake.slow * highest[-1]
    return known, held, float(highest[-1])
