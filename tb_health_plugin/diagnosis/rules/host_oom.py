"""The system killed it for lack of memory, and this is what needed so much.

What it means
  The training asked for more memory than its container or its machine has. The
  kernel then ends a process, without any exception.

How we know
  The kernel counts such kills, and the process ended by SIGKILL. What needed the
  memory is read from its course: a rise with each batch of the first pass over cached
  data, a rise before the first step, a jump, or many data workers.

What it is mistaken for
  A kill from outside: then the kernel counted none. A leak: that goes on after the
  first epoch.

What to do
  Need less at once. A cache in memory takes the whole data set, as it is at that
  place in the pipeline.
"""

import dataclasses

import numpy as np

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.memory_kills import less_memory
from tb_health_plugin.diagnosis.quantities import size
from tb_health_plugin.diagnosis.rates import within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.events import facts

# Growth that explains a kill, as part of what was held at the end.
LEAST_GROWTH_SHARE = 0.2
# More than this in other processes than the one that trains.
CHILDREN_SHARE = 0.4
# Between two samples: one thing was loaded or made.
JUMP_SHARE = 0.4
# What an estimate of a whole cache may fall short by.
SPARE = 1.1


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Adds what needed the memory to how the run ended."""
    end = case.story.verdict
    if end is None or end.id != "host_oom":
        return None
    training = case.training
    found = _workers(case)
    if found is None and training is not None:
        found = _cache(case, training) or _filling(case, training)
    found = found or _jump(case)
    if found is None:
        return None
    evidence, fixes = found
    return dataclasses.replace(
        end,
        evidence=(*end.evidence, evidence),
        fixes=(*fixes, *(_enough(case, end, training) or end.fixes)),
    )


def _enough(case: Case, end: Verdict, training: Training | None) -> tuple[Fix, ...]:
    """To allow what a whole cache takes; empty if that is not known."""
    filled = _filled(case, training) if training is not None else None
    if filled is None or end.detail != "cgroup" or filled.whole is None:
        return ()
    need = filled.before + filled.whole
    fix = less_memory(case.attempt, in_container=True, need=SPARE * need)
    seen = case.attempt.last(facts.ProcessEnded)
    limit = seen.memory_limit_bytes if seen else None
    had = f"; its limit is {size(limit)}" if limit else ""
    return (
        dataclasses.replace(
            fix,
            title="Or allow as much as the whole cache takes",
            why=f"With it the run would have needed about {size(need)}{had}.",
        ),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Filled:
    """What a cache() had taken by the end, in bytes.

    Attributes:
        before: What was held without it.
        grown: What it had taken.
        each: What it took per batch; None without a step.
        whole: What it would have taken in the end, as far as that is known.
    """

    before: float
    grown: float
    each: float | None
    whole: float | None


def _filled(case: Case, training: Training) -> _Filled | None:
    """A cache() that was filling: it grows with each batch of the first pass."""
    if training.setting("data.cache") != "True" or training.epochs:
        return None
    begin = training.started.wall_time
    _, held = within(case, "process_rss_bytes", begin - 1.0, np.inf)
    if len(held) < 2:
        return None
    top = int(np.argmax(held))
    grown = float(held[top] - held[0])
    if grown < LEAST_GROWTH_SHARE * float(held[top]):
        return None
    steps = case.attempt.last_step - (training.started.first_step or 0)
    each = grown / steps if steps > 0 else None
    batches = training.number("data.batches")
    whole = each * batches if each and batches else None
    return _Filled(float(held[0]), grown, each, whole)


def _cache(case: Case, training: Training) -> tuple[Evidence, tuple[Fix, ...]] | None:
    filled = _filled(case, training)
    if filled is None:
        return None
    each = f", {size(filled.each)} with each batch" if filled.each else ""
    whole = ""
    if filled.whole is not None:
        batches = training.number("data.batches")
        whole = (
            f" All {batches or 0:,.0f} batches would take about {size(filled.whole)}."
        )
    text = (
        f"Memory grew by {size(filled.grown)}{each} in the first pass over data "
        f"that has a cache().{whole}"
    )
    room = size(filled.whole) if filled.whole is not None else "room"
    on_disk = f" A file takes {room} of a disk instead, and is slower to read."
    fixes = (
        Fix(
            title="Cache before decoding, or cache to a file",
            why="cache() keeps every element as it is at that place of the pipeline; "
            f"decoded images take many times the room of their files.{on_disk}",
            code='dataset = dataset.cache("/path/on/a/local/disk")',
        ),
        Fix(
            title="Or leave cache() out",
            why="Data is then read and prepared anew in each epoch, which takes time "
            "instead of memory.",
            code=own_code.searched(r"\.cache\("),
        ),
    )
    at = training.at(training.started)
    return Evidence(text=text, lane="host_memory", at=at), fixes


def _filling(case: Case, training: Training) -> tuple[Evidence, tuple[Fix, ...]] | None:
    """It rose while no step was done: a buffer was filled, or data was loaded."""
    if case.attempt.last_step > (training.started.first_step or 0):
        return None
    if training.setting("data.shuffle") != "True":
        return None
    begin = training.started.wall_time
    _, held = within(case, "process_rss_bytes", begin - 1.0, np.inf)
    if len(held) < 2 or held.max() - held[0] < LEAST_GROWTH_SHARE * held.max():
        return None
    text = (
        f"Memory grew by {size(float(held.max() - held[0]))} before the first step: "
        "the shuffle buffer is filled then."
    )
    fix = Fix(
        title="Make the shuffle buffer smaller, or shuffle file names instead",
        why="It holds whole elements, as they are at that place of the pipeline. A "
        "smaller one mixes less.",
        code="dataset = dataset.shuffle(1_000)  # before decoding",
    )
    at = training.at(training.started)
    return Evidence(text=text, lane="host_memory", at=at), (fix,)


def _workers(case: Case) -> tuple[Evidence, tuple[Fix, ...]] | None:
    times, together = case.series("tree_rss_bytes")
    own_times, own = case.series("process_rss_bytes")
    _, count = case.series("tree_processes")
    if not len(together) or not len(own) or not len(count):
        return None
    top = int(np.argmax(together))
    whole = float(together[top])
    others = whole - float(np.interp(times[top], own_times, own))
    many = int(count.max()) - 1
    if many < 2 or whole <= 0 or others < CHILDREN_SHARE * whole:
        return None
    text = (
        f"{many:,} other processes of the training held {size(others)} of "
        f"{size(whole)}; what they share is counted several times."
    )
    training = case.training
    workers = training.setting("data.workers") if training else None
    now = f" There are {workers} now." if workers else ""
    fewer = max(1, int(workers) // 2) if workers and workers.isdecimal() else 2
    fix = Fix(
        title="Use fewer data workers, or let them hold less",
        why=f"Each process has its own copy of what it loads.{now} Fewer make fewer "
        "batches at a time.",
        code=f"super().__init__(workers={fewer}, use_multiprocessing=True)",
    )
    return Evidence(text=text, lane="host_memory"), (fix,)


def _jump(case: Case) -> tuple[Evidence, tuple[Fix, ...]] | None:
    _, held = case.series("process_rss_bytes")
    if len(held) < 2:
        return None
    rises = np.diff(held)
    top = int(np.argmax(rises))
    jump = float(rises[top])
    if jump < JUMP_SHARE * float(held.max()):
        return None
    text = f"Memory rose by {size(jump)} within a second: one thing was loaded or made."
    return Evidence(text=text, lane="host_memory"), ()


RULE = Rule(id="host_oom", judge=judge)
