"""One worker drags all: the others wait for it in every step.

What it means
  Workers that train in step finish each step together, so all go at the pace of the
  slowest. This one spends much of its time on something of its own, and the others
  do not.

How we know
  Every worker records what its own time goes into: waiting for its batches, its
  callbacks, its CPU quota, its machine's memory and disks, and what its GPU's driver
  says of heat and power. One stands out by far; the others spend that time inside of
  the step, where they wait for it.

What it is mistaken for
  A training that is slow everywhere: then all workers wait alike, and the rule for
  that cause says so. A strategy with parameter servers: there no worker waits for
  another; what is told is a server that does most of the work of all (`server`).

What to do
  Help that one worker: its data, its share of the machine, its callbacks. Its own
  page of findings says more.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, replace

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.pace import Pace
from tb_health_plugin.diagnosis.peers import goes_in_step, own_task
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.rules.slow_callback import SAVERS
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# At least this much more of its time than the others: a third of the pace of all.
LEAST_SHARE = 0.3
# The others spend less than this part of it; else it is no matter of one worker.
OF_IT = 0.5
# So many of a large team may be as slow; they are stragglers, too.
MOST_OTHERS = 0.1
# Shorter trainings are all beginning.
LEAST_STEPS = 10
LEAST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Kind:
    """One thing that can hold a single worker back."""

    what: str
    waits: str
    lane: str
    fix: Fix


_KINDS = {
    "data": _Kind(
        "waiting for its own data",
        "waits for its own data",
        "data_wait",
        Fix(
            title="Make its data come as fast as that of the others",
            why="Look at where it reads from, and whether its share of the files is "
            "larger.",
            code="dataset = dataset.prefetch(tf.data.AUTOTUNE)",
        ),
    ),
    "cpu_quota": _Kind(
        "stopped by its CPU quota",
        "may not use the CPU it needs",
        "cpu",
        Fix(
            title="Give it the same CPU limit as the others",
            why="The kernel stops it again and again; the others are not stopped.",
        ),
    ),
    "gpu": _Kind(
        "with a GPU held back by heat or power",
        "has a GPU that is held back by heat or power",
        "gpu",
        Fix(
            title="Cool its GPU, or look at its power",
            why="The driver lowers its clocks; the GPUs of the others run at theirs.",
            code="nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE",
        ),
    ),
    "callbacks": _Kind(
        "in its callbacks",
        "is in its callbacks",
        "throughput",
        Fix(
            title="Save and report less often, or on a thread of its own",
            why="While this worker saves or reports, all others wait. With fewer saves "
            "more work is lost if it dies.",
        ),
    ),
    "swap": _Kind(
        "waiting for memory",
        "waits for memory",
        "host_memory",
        Fix(
            title="Give its machine more memory, or less to do",
            why="It waits for memory, as when it swaps; the others do not.",
        ),
    ),
    "disk": _Kind(
        "waiting for its disks",
        "waits for its disks",
        "disk",
        Fix(
            title="Look at the disks of its machine",
            why="All that runs there waits for them; the other machines do not.",
            code="iostat -x 5",
        ),
    ),
}


def judge(case: Case) -> Verdict | None:
    """What holds this worker back far more than the others; the worst of it."""
    own = case.team.get(case.attempt.id)
    others = [pace for id, pace in case.team.items() if id != case.attempt.id]
    if own is None or not others or not goes_in_step(case.attempt):
        return None
    if own.steps < LEAST_STEPS or own.seconds < LEAST_SECONDS:
        return None
    found = [
        (share, kind, theirs)
        for kind in _KINDS
        for share, theirs in [_excess(own, others, kind)]
        if share is not None
    ]
    if not found:
        return None
    share, kind, theirs = max(found)
    return _verdict(case, share, kind, theirs, 1 + len(others))


def _excess(own: Pace, others: list[Pace], kind: str) -> tuple[float | None, float]:
    """Its share, if it stands out, and what is usual among the others."""
    share: float | None = getattr(own, kind)
    known = [s for s in (getattr(one, kind) for one in others) if s is not None]
    if share is None or not known:
        return None, 0.0
    usual = statistics.median(known)
    alike = sum(one > OF_IT * share for one in known)
    stands_out = share - usual >= LEAST_SHARE and alike <= MOST_OTHERS * len(known)
    return (share if stands_out else None), usual


def _verdict(case: Case, share: float, kind: str, theirs: float, size: int) -> Verdict:
    words, name = _KINDS[kind], own_task(case.attempt) or "this worker"
    at = case.stopped_at
    return Verdict(
        id="straggler",
        detail=kind,
        severity="warning",
        confidence="likely",
        headline=f"{name[0].upper()}{name[1:]} holds all {size:,} back: it "
        f"{words.waits} {share:.0%} of the time",
        because="Workers in step wait for the slowest in every step, and no other one "
        "spends its time so.",
        cause_at=case.training.at(case.training.started) if case.training else at,
        stopped_at=at,
        place={"worker": name},
        evidence=(
            Evidence(
                text=f"It spent {share:.0%} of its training {words.what}.",
                lane=words.lane,
                at=at,
            ),
            Evidence(text=f"The others spent {theirs:.0%} of theirs so.", at=at),
        ),
        fixes=(_fix(case, kind),),
        chip="Straggler",
        explains=_SAME.get(kind, ()),
    )


def _fix(case: Case, kind: str) -> Fix:
    """What to do, with a line of this run's own if there is none for all."""
    fix, training = _KINDS[kind].fix, case.training
    if kind == "swap":
        return replace(fix, code="free -h && ps aux --sort=-rss | head -n 5")
    if kind == "cpu_quota":
        cores = training.number("cpus") if training else None
        line = "cat /sys/fs/cgroup/cpu.max  # here, and beside the others"
        return replace(
            fix, code=hosting.cores(case.attempt, int(cores)) if cores else line
        )
    if kind == "callbacks" and training is not None:
        return replace(fix, code=_less_often(training))
    return fix


def _less_often(training: Training) -> str:
    """For the callback that took most time."""
    took: Counter[str] = Counter()
    for spent in training.spent:
        took.update(spent.callback_seconds)
    name = took.most_common(1)[0][0] if took else ""
    if name in SAVERS:
        return 'keras.callbacks.ModelCheckpoint("last.keras", save_freq="epoch")'
    return f"if batch % 100: return  # first in {name or 'on_train_batch_end'}"


# What the same thing is called in a run with one worker.
_SAME = {
    "data": ("input_bound",),
    "cpu_quota": ("cpu_limited", "slow_step"),
    "gpu": ("gpu_throttled", "slow_step"),
    "callbacks": ("slow_callback",),
    "swap": ("swap_thrash",),
    "disk": ("disk_slow",),
}

RULE = Rule("straggler", judge)
