"""A GPU ran slower than it can, because of heat or power.

What it means
  The card lowers its clocks to stay below a temperature or a power limit. Steps take
  longer, and the training cannot change that.

How we know
  The driver says why the clocks are not higher, and how high they are. Both must
  agree: a reason that costs no speed is not told.

What it is mistaken for
  A power cap that is touched at full load: most cards do, and lose little by it. An
  idle card, which lowers its clocks to save power.

What to do
  Heat: clean the fans, let air through, cool the room, fewer cards side by side.
  Power: raise the limit if the supply allows it.
"""

import numpy as np

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.gpus import measured_gpus, moment, named
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.rates import last_value, within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, NotMeasured, Verdict
from tb_health_plugin.reading.table import Array

# NVML's bits: slowed down for heat by software, or by the hardware itself.
HEAT_BITS = 0x20 | 0x40
# Capped by the power limit, or braked by the power supply.
POWER_BITS = 0x04 | 0x80
# Shorter than this it may be one hot moment, or the end of a validation.
LEAST_SECONDS = 30.0
# It held for this part of the time in which the card worked.
LEAST_SHARE = 0.3
# Below this the card works on nothing worth a clock.
BUSY = 0.2
# Heat: a sixth of the speed is worth a fan. Power: cards at full load run some way
# below their highest clock by design, so that much more must be missing.
SLOW_BY_HEAT = 0.85
SLOW_BY_POWER = 0.6


def judge(case: Case) -> Verdict | NotMeasured | None:
    """The first GPU that was slowed down, by heat before by power."""
    for gpu in measured_gpus(case):
        found = _of(case, gpu, "heat", HEAT_BITS, SLOW_BY_HEAT) or _of(
            case, gpu, "power", POWER_BITS, SLOW_BY_POWER
        )
        if found is not None:
            return found
    return None


def _of(case: Case, gpu: int, detail: str, bits: int, slow: float) -> Verdict | None:
    table = case.samples
    times = table.column("wall_time")
    reasons = table.column(f"gpu{gpu}_throttle_reasons")
    clock = table.column(f"gpu{gpu}_sm_clock_hertz")
    busy = table.column(f"gpu{gpu}_busy_fraction")
    highest = last_value(case, f"gpu{gpu}_sm_clock_max_hertz")
    known = np.isfinite(reasons) & np.isfinite(clock) & (reasons >= 0)
    # Where nobody tells how busy it is, a reason is all there is.
    known &= ~(busy < BUSY)
    if not highest or highest <= 0 or known.sum() < 2:
        return None
    held = known.copy()
    held[known] = (reasons[known].astype(np.int64) & bits) != 0
    held &= clock < slow * highest
    lengths = np.minimum(np.diff(times, prepend=times[0]), 60.0)
    seconds = float(lengths[held].sum())
    if seconds < LEAST_SECONDS or seconds < LEAST_SHARE * float(lengths[known].sum()):
        return None
    return _verdict(case, gpu, detail, times[held], clock[held], highest, seconds)


def _verdict(
    case: Case,
    gpu: int,
    detail: str,
    times: Array,
    clock: Array,
    highest: float,
    seconds: float,
) -> Verdict:
    since, until = float(times[0]), float(times[-1])
    at = moment(case, since)
    share = float(np.median(clock)) / highest
    lane = "gpu_temperature" if detail == "heat" else "gpu"
    evidence = [
        Evidence(
            text=f"The driver gave {detail} as the reason for {duration(seconds)}.",
            lane=lane,
            at=at,
        ),
        Evidence(
            text=f"{named(case, gpu)} ran at {np.median(clock) / 1e6:,.0f} of "
            f"{highest / 1e6:,.0f} MHz.",
            lane=lane,
            at=at,
        ),
    ]
    value, limit, unit = (
        ("temperature_celsius", "slowdown_celsius", "°C")
        if detail == "heat"
        else ("power_watts", "power_limit_watts", "W")
    )
    _, values = within(case, f"gpu{gpu}_{value}", since, until)
    bound = last_value(case, f"gpu{gpu}_{limit}")
    if len(values):
        of = f"; its limit is {bound:.0f} {unit}" if bound else ""
        text = f"It was at up to {values.max():.0f} {unit}{of}."
        evidence.append(Evidence(text=text, strong=False, lane=lane, at=at))
    word = "overheated" if detail == "heat" else "is short of power"
    return Verdict(
        id="gpu_throttled",
        detail=detail,
        severity="warning",
        confidence="proven",
        headline=f"GPU {gpu} {word} and ran at {share:.0%} of its highest clock",
        because="The driver says why the clocks are not higher, and they were low.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"gpu": gpu},
        evidence=tuple(evidence),
        fixes=(_COOL if detail == "heat" else _POWER,),
        chip="GPU overheated" if detail == "heat" else "GPU power limit",
        explains=("slow_step",),
    )


_COOL = Fix(
    title="Cool the GPU",
    why="Dust, a blocked fan, a warm room or cards side by side are the commonest "
    "reasons.",
    code="nvidia-smi -q -d TEMPERATURE,PERFORMANCE",
)
_POWER = Fix(
    title="Raise the power limit of the GPU, or check its supply",
    why="Its clocks are held down by the power it may draw.",
    code="nvidia-smi -q -d POWER,PERFORMANCE",
)

RULE = Rule(id="gpu_throttled", judge=judge)
