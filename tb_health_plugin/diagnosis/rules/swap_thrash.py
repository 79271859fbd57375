"""The machine moves memory to disk and back instead of training.

What it means
  More memory is in use than the machine has, so pages of it are on disk. Each time
  the training needs one, it waits. Steps take many times as long as before.

How we know
  The kernel counts pages that it moved in and out, times this process waited for
  one, and time in which work stood still for want of memory. All of them rise while
  steps get slow.

What it is mistaken for
  Swap that is in use and lies still: that does no harm. Files read for the first
  time: those faults come at the start, and no memory is short.

What to do
  Need less memory: smaller batches, a smaller shuffle buffer, no cache in memory. Or
  end other programs, or get a machine with more.
"""

import numpy as np
import numpy.typing as npt

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import duration, size
from tb_health_plugin.diagnosis.rates import last_value, rates, window
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.smaller_batches import halved
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.reading.table import Array

Mask = npt.NDArray[np.bool_]

PAGE_BYTES = 4096
# 4 MiB a second both ways: more than tidying up, and it fills a slow disk.
LEAST_PAGES_PER_SECOND = 1_000.0
# The process itself waits for pages this often.
LEAST_FAULTS_PER_SECOND = 50.0
# Where the kernel measures it: something waited for memory this part of the time.
LEAST_PRESSURE = 0.2
# A slow disk moves far fewer pages, and the training does next to nothing meanwhile: on
# one of 300 reads a second it had 40 to 110 such faults and 2 % of a core.
LEAST_PAGES_IN_SLOW = 100.0
LEAST_FAULTS_SLOW = 20.0
MOST_CORES_SLOW = 0.5
LEAST_SECONDS = 5.0
LEAST_SHARE = Option(
    "least_share",
    0.2,
    "Share of the training in which the machine swapped from which on it is told.",
)
SLOWER = 1.5


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Looks for seconds in which pages moved and the training waited for them."""
    if not case.trainings:
        return None
    begin = min(training.started.wall_time for training in case.trainings)
    end = max(window(case, training)[1] for training in case.trainings)
    times, faults = rates(case, "process_major_faults", begin, end)
    if not len(times):
        return None
    pages_in = _at(case, "machine_swap_in_pages", times, begin, end)
    pages = pages_in + _at(case, "machine_swap_out_pages", times, begin, end)
    pressure = _at(case, "pressure_memory_some_seconds", times, begin, end)
    bad = (pages >= LEAST_PAGES_PER_SECOND) & (faults >= LEAST_FAULTS_PER_SECOND)
    if case.samples.has("pressure_memory_some_seconds"):
        bad &= pressure >= LEAST_PRESSURE
    if case.samples.has("tree_cpu_seconds"):
        cores = _at(case, "tree_cpu_seconds", times, begin, end)
        bad |= (
            (pages_in >= LEAST_PAGES_IN_SLOW)
            & (faults >= LEAST_FAULTS_SLOW)
            & (cores <= MOST_CORES_SLOW)
        )
    lengths = np.diff(times, prepend=begin)
    seconds = float(lengths[bad].sum())
    if seconds < LEAST_SECONDS or seconds < case.tuned(LEAST_SHARE) * (end - begin):
        return None
    slower = _slower(case, times, bad, begin, end)
    if slower is not None and slower < SLOWER:
        return None
    moved = float(np.median(pages[bad])) * PAGE_BYTES
    return _verdict(case, times, bad, seconds, moved, slower)


def _at(case: Case, column: str, times: Array, begin: float, end: float) -> Array:
    """Rises per second of a counter, at the given moments; 0 if not measured."""
    known, values = rates(case, column, begin, end)
    if not len(known):
        return np.zeros(len(times))
    return np.asarray(np.interp(times, known, values), float)


def _slower(
    case: Case, times: Array, bad: Mask, begin: float, end: float
) -> float | None:
    """How many times longer steps took then; None without other seconds."""
    known, pace = rates(case, "step", begin, end)
    if len(known) < 4 or not (~bad).any():
        return None
    then = np.interp(known, times, bad.astype(float)) >= 0.5
    good = pace[~then]
    if len(good) < 3 or not then.any() or float(np.median(good)) <= 0:
        return None
    return float(np.median(good) / max(float(np.mean(pace[then])), 1e-9))


def _verdict(
    case: Case,
    times: Array,
    bad: Mask,
    seconds: float,
    moved: float,
    slower: float | None,
) -> Verdict:
    since = float(times[bad][0])
    known, steps = case.series("step")
    step = int(np.interp(since, known, steps)) if len(known) else None
    at = Moment(step=step, wall_time=since)
    evidence = [
        Evidence(
            text=f"For {duration(seconds)}, {size(moved)} of memory a second went to "
            "disk or came back, and the training waited for it.",
            lane="host_memory",
            at=at,
        )
    ]
    swapped = last_value(case, "process_swap_bytes")
    if swapped:
        text = f"{size(swapped)} of this process were on disk at last."
        evidence.append(Evidence(text=text, strong=False, lane="host_memory"))
    words = "The machine was swapping"
    if step:
        words += f" from step {step:,}"
    if slower is not None:
        words += f"; steps took {min(slower, 999):.0f} times as long"
        text = f"Steps took {min(slower, 999):.1f} times as long in that time."
        evidence.append(Evidence(text=text, lane="throughput", at=at))
    return Verdict(
        id="swap_thrash",
        severity="warning",
        confidence="proven" if slower is not None else "likely",
        headline=words,
        because="The kernel counts the pages it moved and the times this process "
        "waited for one.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Hold less in memory: no cache(), a smaller shuffle buffer",
                why="What is on disk anyway can be read from there once, in order, and "
                "not page by page. Shuffling becomes a little worse.",
                code='dataset.cache("/a/local/disk").shuffle(1_000)',
            ),
            halved(case.attempt),
            Fix(
                title="See who holds the memory, and end what is not needed",
                why=_short_of(case),
                code="ps aux --sort=-rss | head",
            ),
        ),
        chip="Swapping",
        explains=("input_bound", "slow_step", "disk_slow"),
    )


def _short_of(case: Case) -> str:
    own = last_value(case, "process_rss_bytes")
    total = last_value(case, "host_memory_total_bytes")
    limit = last_value(case, "cgroup_memory_limit_bytes")
    if not own or not (total or limit):
        return "Memory is short on the whole machine or container, not only here."
    if limit and not (total and limit >= total):
        whole = f"the {size(limit)} that this container may use"
    else:
        whole = f"the machine's {size(total or 0.0)}"
    return f"This training holds {size(own)} of {whole} in memory."


RULE = Rule(id="swap_thrash", judge=judge, options=(LEAST_SHARE,))
