"""A GPU gave less than it can: heat, power, or another program held it back.

What it means
  The card lowers its clocks to stay below a temperature or a power limit, or it shares
  its time with another process. Steps take longer, and the training cannot change that.

How we know
  The driver says why the clocks are not higher, and how high they are. Both must
  agree: a reason that costs no speed is not told. Where a card gives no reasons, clocks
  that fall while it works are told, with less certainty. What it cost is counted in
  steps, by the pace of this run while nothing held the card back. How much of its time
  other processes take is told by the driver, too.

What it is mistaken for
  A power cap that is touched at full load: most cards do, and lose little by it. An
  idle card, which lowers its clocks to save power. Another process that holds memory
  and computes nothing.

What to do
  Heat: clean the fans, let air through, cool the room, fewer cards side by side.
  Power: raise the limit if the supply allows it. Another process: move one of the two.
"""

import numpy as np

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.gpu_brakes import HEAT, POWER, Brake, braked
from tb_health_plugin.diagnosis.gpu_pace import Cost, cost, lengths
from tb_health_plugin.diagnosis.gpu_sharing import shared
from tb_health_plugin.diagnosis.gpus import label, measured_gpus, moment, named
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.rates import last_value, within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, NotMeasured, Verdict
from tb_health_plugin.reading.table import Array

# Shorter than this it may be one hot moment, or the end of a validation.
LEAST_SECONDS = 30.0
# Less of the time in which the card works is a hot hour, not the training.
LEAST_SHARE = Option(
    "least_share",
    0.3,
    "Share of its working time in which a GPU was held back from which on it is told.",
)
# Without reasons: clocks of a card at work, against those it had earlier in this run.
FALLEN = 0.7
AT_WORK = 0.5
FALLEN_SECONDS = 60.0
FIRST_SECONDS = 30.0
FEWEST_FIRST = 4
STAYS_LOW = 0.8
# A card slows itself down only this near to its limit.
NEAR_CELSIUS = 10.0


def judge(case: Case) -> Verdict | NotMeasured | None:
    """The first GPU that was slowed down: heat, power, falling clocks, then others."""
    gpus = list(measured_gpus(case))
    for gpu in gpus:
        found = _of(case, gpu, HEAT) or _of(case, gpu, POWER) or _falling(case, gpu)
        if found is not None:
            return found
    sharing = [found for gpu in gpus if (found := shared(case, gpu))]
    return min(sharing, key=lambda one: one.severity != "warning", default=None)


def _falling(case: Case, gpu: int) -> Verdict | None:
    """Clocks that fell while it worked, on a card that gives no reasons."""
    table = case.samples
    times = table.column("wall_time")
    clock = table.column(f"gpu{gpu}_sm_clock_hertz")
    if np.isfinite(table.column(f"gpu{gpu}_throttle_reasons")).any():
        return None
    at_work = np.isfinite(clock) & (table.column(f"gpu{gpu}_busy_fraction") >= AT_WORK)
    places = np.flatnonzero(at_work)
    if len(places) < 8:
        return None
    each = lengths(case)
    # It may fall soon, and the run be long: the first half minute tells what it can.
    first = places[np.cumsum(each[places]) <= FIRST_SECONDS]
    if len(first) < FEWEST_FIRST:
        first = places[:FEWEST_FIRST]
    before = float(np.median(clock[first]))
    fallen = at_work & (clock < FALLEN * before)
    if not fallen.any() or fallen[first].any():
        return None
    # It stays low: something that comes and goes is another load.
    since = places[places >= np.flatnonzero(fallen)[0]]
    last = places[-(len(places) // 4) :]
    if not fallen[last].all() or fallen[since].mean() < STAYS_LOW:
        return None
    seconds = float(each[fallen].sum())
    if seconds < FALLEN_SECONDS:
        return None
    paid = cost(case, fallen, at_work & ~fallen)
    return _verdict(
        case, gpu, "falling_clocks", times[fallen], clock[fallen], before, seconds, paid
    )


def _of(case: Case, gpu: int, brake: Brake) -> Verdict | None:
    found = braked(case.samples, gpu, brake)
    if found is None:
        return None
    known, held, highest = found
    times = case.samples.column("wall_time")
    clock = case.samples.column(f"gpu{gpu}_sm_clock_hertz")
    each = lengths(case)
    seconds = float(each[held].sum())
    least = case.tuned(LEAST_SHARE) * float(each[known].sum())
    if seconds < max(LEAST_SECONDS, least):
        return None
    paid = cost(case, held, known & ~held)
    return _verdict(
        case, gpu, brake.name, times[held], clock[held], highest, seconds, paid
    )


def _verdict(
    case: Case,
    gpu: int,
    detail: str,
    times: Array,
    clock: Array,
    highest: float,
    seconds: float,
    paid: Cost | None,
) -> Verdict:
    at = moment(case, float(times[0]))
    middle = float(np.median(clock))
    lane = _LANES.get(detail, "gpu")
    has_reason = detail != "falling_clocks"
    texts = [
        f"The driver gave {detail} as the reason for {duration(seconds)}."
        if has_reason
        else f"It stayed low for {duration(seconds)}; this card gives no reason.",
        f"{named(case, gpu)} ran at {middle / 1e6:,.0f} of {highest / 1e6:,.0f} MHz.",
    ]
    evidence = [Evidence(text=text, lane=lane, at=at) for text in texts]
    evidence += _at_its_limit(case, gpu, detail, times, lane)
    if paid is not None and paid.lost_steps >= 1:
        text = f"It cost about {paid.lost_steps:,.0f} steps, by the pace before."
        evidence.append(Evidence(text=text, lane="throughput", at=at))
    of = "its highest clock" if has_reason else "the clock it had before"
    return Verdict(
        id="gpu_throttled",
        detail=detail,
        severity="warning",
        confidence="proven" if has_reason else "likely",
        headline=f"GPU {gpu} {_WORDS[detail]} at {middle / highest:.0%} of {of}",
        because="The driver says why the clocks are not higher, and they were low."
        if has_reason
        else "The clocks fell while the card was at work, and stayed low.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"gpu": gpu},
        evidence=tuple(evidence),
        fixes=(_fix(case, gpu, detail),),
        chip=_CHIPS[detail],
        explains=("slow_step",),
    )


def _at_its_limit(
    case: Case, gpu: int, detail: str, times: Array, lane: str
) -> list[Evidence]:
    """How hot it was, or how much power it drew, beside what it may."""
    since, until = float(times[0]), float(times[-1])
    value, limit, unit = (
        ("power_watts", "power_limit_watts", "W")
        if detail == "power"
        else ("temperature_celsius", "slowdown_celsius", "°C")
    )
    _, values = within(case, f"gpu{gpu}_{value}", since, until)
    if not len(values):
        return []
    bound = last_value(case, f"gpu{gpu}_{limit}")
    of = f"; its limit is {bound:.0f} {unit}" if bound else ""
    text = f"It was at up to {values.max():.0f} {unit}{of}."
    return [Evidence(text=text, strong=False, lane=lane, at=moment(case, since))]


_LANES = {"heat": "gpu_temperature", "power": "gpu_power"}
_WORDS = {
    "heat": "overheated and ran",
    "power": "is short of power and ran",
    "falling_clocks": "lowered its clocks and ran",
}
_CHIPS = {
    "heat": "GPU overheated",
    "power": "GPU power limit",
    "falling_clocks": "GPU slowed down",
}


def _fix(case: Case, gpu: int, detail: str) -> Fix:
    if detail == "power":
        return _power(label(case, gpu))
    limit = last_value(case, f"gpu{gpu}_slowdown_celsius")
    _, heat = within(case, f"gpu{gpu}_temperature_celsius", -np.inf, np.inf)
    was_cool = limit and len(heat) and heat.max() < limit - NEAR_CELSIUS
    if detail == "falling_clocks" and was_cool:
        return Fix(
            title="Ask the driver what holds the clocks down",
            why="It was not hot. A limit that somebody set, a weak power supply, or "
            "several programs that take turns may do it.",
            code=f"nvidia-smi -i {label(case, gpu)} -q -d PERFORMANCE,CLOCK,POWER",
        )
    return _cool(case, gpu)


def _cool(case: Case, gpu: int) -> Fix:
    fan = last_value(case, f"gpu{gpu}_fan_fraction")
    at = f" Its fan ran at {fan:.0%}." if fan is not None else ""
    return Fix(
        title="Cool the GPU",
        why="Dust, a blocked fan, a warm room or cards side by side are the commonest "
        f"reasons.{at}",
        code=f"nvidia-smi -i {label(case, gpu)} -q -d TEMPERATURE,PERFORMANCE",
    )


def _power(gpu: str) -> Fix:
    return Fix(
        title="Raise the power limit of the GPU, or check its supply",
        why="Its clocks are held down by the power it may draw.",
        code=f"nvidia-smi -i {gpu} -q -d POWER,PERFORMANCE",
    )


RULE = Rule(id="gpu_throttled", judge=judge, options=(LEAST_SHARE,))
