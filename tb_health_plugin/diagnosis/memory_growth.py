"""Finds memory that grows without end, in a training or from one to the next."""

from dataclasses import dataclass, replace

import numpy as np

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rates import window, within
from tb_health_plugin.diagnosis.trends import Trend, rank_agreement, trend
from tb_health_plugin.diagnosis.verdict import Confidence, Moment
from tb_health_plugin.reading.table import Array

_MIB = 1 << 20

# Growth that is no noise: healthy trainings of a minute were seen to grow by up to
# 15 MiB after their first epoch, and by up to 70 MiB over eight trainings.
LEAST_GROWTH_BYTES = 64 * _MIB
# And it must be worth something beside what the process holds anyway.
LEAST_GROWTH_SHARE = Option(
    "least_growth_share",
    0.08,
    "Growth of memory, as a share of what was held at first, that counts.",
)
# Within the first epoch everything still fills up: only growth that dwarfs this counts.
FIRST_EPOCH_GROWTH_SHARE = 0.3
# Each step from one quarter of the run to the next makes at least this part of the
# growth. A third would be a perfect line; a plateau has a part near 0.
LEAST_PART = 0.12
# The last of them may be a bit smaller, but what slows down like a logarithm, as memory
# that gets fragmented does, has less than this there.
LEAST_LAST_PART = 0.2
# Nobody would call it anything else: each step from quarter to quarter makes at least
# this part, and what was held grew by a quarter of it.
EVEN_PART = 0.2
LARGE_GROWTH_SHARE = 0.25
# A kill for memory proves that something grew: fewer samples suffice, if nearly all
# of them rise.
FEWEST_BEFORE_A_KILL = 4
RISING_BEFORE_A_KILL = 0.8
# But if so much of it came within one step, something large was made there.
MOST_AT_ONCE = 0.8
# Trainings in one process from which "each of them leaves something" can be said.
FEWEST_TRAININGS = 4
# Weights and the two moments of Adam, four bytes each.
BYTES_PER_PARAMETER = 12
# So much of the models made since must still be there.
LEAST_LEFT_BEHIND = 0.5
# Of two trainings the later one holds more in seven of ten pairs.
MOSTLY_RISING = 0.4
# Memory of other processes is counted coarsely: shared pages several times.
CHILDREN_GROWTH_BYTES = 256 * _MIB


@dataclass(frozen=True, slots=True)
class Leak:
    """Growth that does not end.

    Attributes:
        per: "step", "epoch" or "training".
        each: Bytes per that.
        grown: Bytes in all.
        since: When it began.
        seconds: How long it was seen.
        who: "process" or "children".
        confidence: "possible" within the first pass over the data, or before a kill
            that came soon; "proven" if it is large and even.
    """

    per: str
    each: float
    grown: float
    since: Moment
    seconds: float
    who: str = "process"
    confidence: Confidence = "likely"


def find(case: Case) -> Leak | None:
    """What each training leaves behind, else what grows most within one."""
    across = _across_trainings(case)
    if across is not None:
        return across
    found = [leak for t in case.trainings if (leak := _in_training(case, t))]
    return max(found, key=lambda one: one.grown, default=None)


def model_bytes(case: Case) -> float:
    """Weights and the moments of Adam of one model, about."""
    sizes = [t.started.trainable_parameters or 0 for t in case.trainings]
    return float(np.median(sizes)) * BYTES_PER_PARAMETER if sizes else 0.0


def _in_training(case: Case, training: Training) -> Leak | None:
    begin, end = window(case, training)
    leak = _of_process(case, training, begin, end)
    return leak or _of_children(case, training, begin, end)


def _of_process(
    case: Case, training: Training, begin: float, end: float
) -> Leak | None:
    times, held = within(case, "process_rss_bytes", begin, end)
    steps = _steps_at(case, times)
    warm, past_first_epoch = _warm_from(training, times, steps)
    if not past_first_epoch and training.setting("data.cache") == "True":
        return None
    line = trend(steps[warm:], held[warm:])
    known = past_first_epoch or _never_comes_round(training)
    if (
        line is None
        or not known
        or not _matters(line, past_first_epoch, case.tuned(LEAST_GROWTH_SHARE))
    ):
        return _before_a_kill(case, training, times[warm:], steps[warm:], held[warm:])
    return _leak(
        training,
        line.slope,
        line.change,
        times[warm:],
        steps[warm:],
        _confidence(line, past_first_epoch),
    )


def _confidence(line: Trend, past_first_epoch: bool) -> Confidence:
    if not past_first_epoch:
        return "possible"
    is_even = min(line.shares) >= EVEN_PART
    is_large = line.change >= LARGE_GROWTH_SHARE * line.start
    return "proven" if is_even and is_large else "likely"


def _never_comes_round(training: Training) -> bool:
    """There is no pass over the data whose end would end the growth.

    In the first pass over finite data much may grow and then stay: caches of the
    program's own, files that are mapped into memory.
    """
    if training.started.loop == "loop" or training.setting("data.infinite") == "True":
        return True
    return training.setting("data.kind") == "generator"


def _matters(line: Trend, past_first_epoch: bool, least_share: float) -> bool:
    share = least_share if past_first_epoch else FIRST_EPOCH_GROWTH_SHARE
    enough = max(LEAST_GROWTH_BYTES, share * line.start)
    return (
        line.change >= enough
        and line.rises_throughout(LEAST_PART)
        and line.shares[-1] >= LEAST_LAST_PART
    )


def _before_a_kill(
    case: Case, training: Training, times: Array, steps: Array, held: Array
) -> Leak | None:
    """Few samples, but they rise to the kill, or to the refusal of memory."""
    end = case.story.verdict
    if end is None or end.id not in ("host_oom", "alloc_failure"):
        return None
    if len(held) > 1 and held[-1] < held[-2]:
        # The kill had already begun to free it.
        times, steps, held = times[:-1], steps[:-1], held[:-1]
    if len(held) < FEWEST_BEFORE_A_KILL or steps[-1] <= steps[0]:
        return None
    grown = float(held[-1] - held[0])
    rising = float(np.mean(np.diff(held) > 0))
    first = float(held[0])
    if rising < RISING_BEFORE_A_KILL or grown < FIRST_EPOCH_GROWTH_SHARE * first:
        return None
    if _within_one_step(steps, (held - first) / grown):
        return None
    slope = grown / float(steps[-1] - steps[0])
    return _leak(training, slope, grown, times, steps, "possible")


def _within_one_step(steps: Array, shares: Array) -> bool:
    """Nearly all of it was asked for at once: it does not grow with the steps."""
    begun = steps[int(np.argmax(shares >= 1 - MOST_AT_ONCE))]
    return bool(steps[int(np.argmax(shares >= MOST_AT_ONCE))] <= begun)


def _leak(
    training: Training,
    slope: float,
    grown: float,
    times: Array,
    steps: Array,
    confidence: Confidence = "likely",
) -> Leak:
    step = int(steps[0])
    epoch = training.epoch_of(step)
    since = Moment(
        step=step,
        epoch=None if epoch is None else epoch + 1,
        wall_time=float(times[0]),
    )
    per, each = "step", slope
    lengths = [(e.last_step or 0) - (e.first_step or 0) for e in training.epochs]
    if len(lengths) >= 2 and np.median(lengths) > 0:
        per, each = "epoch", slope * float(np.median(lengths))
    seconds = float(times[-1] - times[0])
    return Leak(per, each, grown, since, seconds, confidence=confidence)


def _of_children(
    case: Case, training: Training, begin: float, end: float
) -> Leak | None:
    """Data workers that grow, while their number stays."""
    times, together = within(case, "tree_rss_bytes", begin, end)
    own_times, own = within(case, "process_rss_bytes", begin, end)
    count_times, count = within(case, "tree_processes", begin, end)
    if not len(own) or not len(count):
        return None
    children = together - np.interp(times, own_times, own)
    many = np.interp(times, count_times, count)
    steps = _steps_at(case, times)
    warm, past_first_epoch = _warm_from(training, times, steps)
    if not past_first_epoch or len(set(many[warm:].tolist())) != 1 or many[-1] < 2:
        return None
    line = trend(steps[warm:], children[warm:])
    if line is None or line.change < CHILDREN_GROWTH_BYTES:
        return None
    if not line.rises_throughout(LEAST_PART):
        return None
    found = _leak(training, line.slope, line.change, times[warm:], steps[warm:])
    return replace(found, who="children")


def _across_trainings(case: Case) -> Leak | None:
    """Each training leaves something behind: about its model, or always the same."""
    # A loop is told again when more is known of it.
    trainings = tuple({t.started.training: t for t in case.trainings}.values())
    if len(trainings) < FEWEST_TRAININGS:
        return None
    levels = _levels(case, trainings)
    # The first one warms everything up.
    levels = levels[1:]
    if len(levels) < FEWEST_TRAININGS - 1:
        return None
    numbers = np.array([float(number) for number, _, _ in levels])
    held = np.array([value for _, value, _ in levels])
    made = float(numbers[-1] - numbers[0])
    least_share = case.tuned(LEAST_GROWTH_SHARE)
    grown = float(np.median(held[-2:]) - np.median(held[:2]))
    models = model_bytes(case) * made
    line = trend(numbers, held)
    rises = line is not None and line.lowest_slope > 0
    keeps_models = (
        models >= LEAST_GROWTH_BYTES
        and not _models_grow(trainings)
        and grown >= max(LEAST_GROWTH_BYTES, LEAST_LEFT_BEHIND * models)
        and (rises or rank_agreement(numbers, held) >= MOSTLY_RISING)
    )
    keeps_more = (
        line is not None
        and line.change >= max(3 * LEAST_GROWTH_BYTES, least_share * line.start)
        and line.rises_throughout(LEAST_PART)
        and not _models_grow(trainings)
    )
    if not (keeps_models or keeps_more) or made <= 0:
        return None
    each = line.slope if rises and line is not None else grown / made
    since = trainings[int(numbers[0])].started
    at = Moment(step=since.step, wall_time=since.wall_time)
    return Leak("training", each, grown, at, float(levels[-1][2] - levels[0][2]))


def _levels(
    case: Case, trainings: tuple[Training, ...]
) -> list[tuple[int, float, float]]:
    """Number, lowest memory and moment of each training that has a sample."""
    times, held = case.series("process_rss_bytes")
    starts = [training.started.wall_time for training in trainings]
    last = trainings[-1]
    ends = [*starts[1:], window(case, last)[1]]
    found = []
    for number, (begin, end) in enumerate(zip(starts, ends, strict=True)):
        inside = (times >= begin) & (times <= end)
        if inside.any():
            found.append((number, float(held[inside].min()), begin))
    return found


def _models_grow(trainings: tuple[Training, ...]) -> bool:
    """A search that tries larger and larger models needs more memory each time."""
    sizes = [t.started.trainable_parameters or 0 for t in trainings]
    return sizes[-1] > 1.5 * max(1, min(sizes)) and sizes[-1] == max(sizes)


def _steps_at(case: Case, times: Array) -> Array:
    """Steps finished at each moment; all 0 where nobody counted them."""
    known, steps = case.series("step")
    if not len(known):
        return np.zeros(len(times))
    return np.asarray(np.interp(times, known, steps), float)


def _warm_from(training: Training, times: Array, steps: Array) -> tuple[int, bool]:
    """Index of the first sample to judge, and whether the first epoch is before it."""
    if not len(times):
        return 0, False
    first = training.epochs[0] if training.epochs else None
    if first is not None and len(training.epochs) >= 2:
        after = int(np.searchsorted(times, first.wall_time))
        if len(times) - after >= FEWEST_BEFORE_A_KILL:
            return after, True
    quarter = float(steps[0] + (steps[-1] - steps[0]) / 4)
    return int(np.searchsorted(steps, quarter)), False
