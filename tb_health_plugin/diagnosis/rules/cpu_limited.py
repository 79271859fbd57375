"""The training may not use the CPUs it has: a quota, thread settings, or heat.

What it means
  Steps take long because something keeps them from the cores: the container's CPU
  quota stops all threads again and again, TensorFlow was told to use one thread, the
  process is bound to one CPU, or the processor slows itself down.

How we know
  The kernel counts how often it stopped the container. TensorFlow tells its thread
  settings, and the CPU time of the processes tells how many cores they used. The
  processor counts how often it got too hot.

What it is mistaken for
  Other programs on the machine: they take CPU time, but no quota stops us. Waiting
  for data or disks: then cores are idle because nobody wants them.

What to do
  Raise the quota, or make as many threads as it has cores. Remove thread settings of
  1. Cool the machine.
"""

from dataclasses import dataclass

import numpy as np

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.pace import PERIOD_SECONDS
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.rates import last_value, rate, rates, window, within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.time_use import TimeUse, whole
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Severity,
    Verdict,
)

# Stopped in every second period: the quota is what sets the pace.
THROTTLED_SHARE = 0.5
# It uses what it may use.
OF_LIMIT = 0.7
# Containers with a few cores of many are everyday life, and their owners know; with
# less than this every step of a training suffers.
FEW_CORES = Option(
    "few_cores",
    2.0,
    "A quota of fewer cores is a warning; a larger one is only good to know.",
)
# And it did so for this part of the training.
LEAST_SHARE = 0.3
# A shorter time proves nothing.
LEAST_SECONDS = 3.0
# One thread on one core, with a bit for input and the loop itself.
ONE_CORE = 1.2
# Steps this short, where they are fastest, gain nothing from more threads.
LEAST_STEP_SECONDS = 0.02
LEAST_STEP_SHARE = 0.5
LEAST_STEPPING_SECONDS = 1.5
# A processor this hot slows down several times a second.
HEAT_PER_SECOND = 1.0
SLOWER_WHEN_HOT = 1.3

_SINGLE = "1"


@dataclass(frozen=True, slots=True)
class _Use:
    training: Training
    time: TimeUse
    begin: float
    end: float
    cores: float | None

    @property
    def at(self) -> Moment:
        return self.training.at(self.training.started)

    @property
    def computes(self) -> bool:
        """Steps are what the time goes into, and they are worth speeding up."""
        stepping = self.time.stepping or 0.0
        return (
            stepping >= LEAST_STEPPING_SECONDS
            and self.time.share(stepping) >= LEAST_STEP_SHARE
            and self._fastest_step >= LEAST_STEP_SECONDS
        )

    @property
    def _fastest_step(self) -> float:
        """Tracing and other programs make some stretches slow, but not all."""
        return min(
            (
                stretch.step_seconds / stretch.steps
                for stretch in self.training.spent
                if stretch.steps and stretch.step_seconds
            ),
            default=0.0,
        )


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Quota, then threads, then heat; the longest training is looked at."""
    if not case.trainings:
        return None
    use = max((_use(case, t) for t in case.trainings), key=lambda u: u.end - u.begin)
    return (
        _quota(case, use)
        or _threads(case, use)
        or _one_cpu(case, use)
        or _heat(case, use)
    )


def _use(case: Case, training: Training) -> _Use:
    begin, end = window(case, training)
    cores = rate(case, "tree_cpu_seconds", begin, end)
    return _Use(training, whole(training), begin, end, cores)


def _quota(case: Case, use: _Use) -> Verdict | None:
    limit = last_value(case, "cgroup_cpu_limit_cores")
    times, stopped = rates(case, "cgroup_cpu_throttled_periods", use.begin, use.end)
    if limit is None or not len(times):
        return None
    share = np.minimum(1.0, stopped * PERIOD_SECONDS)
    hit = share >= THROTTLED_SHARE
    seconds = float(np.sum(np.diff(times, prepend=use.begin)[hit]))
    if seconds < LEAST_SECONDS or seconds < LEAST_SHARE * (use.end - use.begin):
        return None
    since = float(times[hit][0])
    cores = rate(case, "tree_cpu_seconds", since, use.end)
    cpus = last_value(case, "machine_cpu_cores") or use.training.number("cpus")
    if cores is not None and cores < OF_LIMIT * limit:
        return None
    if cpus is not None and limit >= cpus:
        return None
    severity: Severity = "warning" if limit < case.tuned(FEW_CORES) else "info"
    mean = float(np.mean(share[hit]))
    at = _moment(case, use, since)
    of = f" of {cpus:.0f}" if cpus else ""
    evidence = [
        Evidence(
            text=f"The kernel stopped the container in {mean:.0%} of all periods, for "
            f"{duration(seconds)} of the training.",
            lane="cpu",
            at=at,
        ),
        Evidence(text=f"It may use {limit:.2g}{of} cores.", at=at),
    ]
    if cores is not None:
        text = f"Its processes used {cores:.2g} cores: all they may."
        evidence.append(Evidence(text=text, strong=False, lane="cpu", at=at))
    slower = _slower_since(case, use, since)
    if slower:
        evidence.append(Evidence(text=slower, lane="throughput", at=at))
    return Verdict(
        id="cpu_limited",
        detail="quota",
        severity=severity,
        confidence="proven",
        headline=f"A CPU quota of {limit:.2g} cores held the training back",
        because="The kernel counts each period in which the quota stopped it.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"limit_cores": f"{limit:.2g}"},
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Raise the CPU limit of the container",
                why=f"It may use {limit:.2g}{of} cores now, and used them all.",
                code=hosting.cores(case.attempt, max(2, round(cpus or 4))),
            ),
            Fix(
                title="Make no more threads than the quota has cores",
                why="TensorFlow makes a thread per CPU it sees, and the quota then "
                "stops them all at once.",
                code="tf.config.threading.set_intra_op_parallelism_threads("
                f"{max(1, round(limit)):d})",
            ),
        ),
        chip="CPU quota",
        explains=("input_bound", "slow_step", "disk_slow"),
    )


def _moment(case: Case, use: _Use, since: float) -> Moment:
    times, steps = case.series("step")
    if not len(times):
        return Moment(wall_time=since)
    step = int(np.interp(since, times, steps))
    epoch = use.training.epoch_of(step)
    return Moment(
        step=step, epoch=None if epoch is None else epoch + 1, wall_time=since
    )


def _slower_since(case: Case, use: _Use, since: float) -> str:
    """What a limit that came in the middle did to the steps."""
    before = rate(case, "step", use.begin, since)
    after = rate(case, "step", since, use.end)
    if not before or not after or since - use.begin < LEAST_SECONDS or before <= after:
        return ""
    return f"{before:.3g} steps a second before, {after:.3g} since then."


def _threads(case: Case, use: _Use) -> Verdict | None:
    cpus = use.training.number("cpus") or 0
    name = _single_thread_setting(case, use.training)
    if name is None or cpus < 2 or not use.computes or use.cores is None:
        return None
    if use.cores > ONE_CORE:
        return None
    if (use.training.number("gpus") or 0) > 0:
        return None
    at = use.at
    each = duration(use.time.per_step(use.time.stepping))
    return Verdict(
        id="cpu_limited",
        detail="threads",
        severity="warning",
        confidence="likely",
        headline=f"TensorFlow is limited to one thread of {cpus:.0f} CPUs",
        because="The setting says so, and the training never used more than about "
        "one core while it computed.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"setting": name},
        evidence=(
            Evidence(text=f"{name} is 1; 0 would let TensorFlow choose.", at=at),
            Evidence(
                text=f"Its processes used {use.cores:.1f} of {cpus:.0f} cores, and "
                f"steps took {each}.",
                lane="cpu",
                at=at,
            ),
        ),
        fixes=(
            Fix(
                title=f"Remove the line that sets {name} to 1",
                why="One operation then uses all cores. Results may differ in the "
                "last digits, because sums are added in another order.",
                code="tf.config.threading.set_intra_op_parallelism_threads(0)",
            ),
        ),
        chip="One thread",
        explains=("slow_step",),
    )


def _one_cpu(case: Case, use: _Use) -> Verdict | None:
    """Bound to one CPU of several, by an affinity mask or a set of CPUs."""
    may, there = use.training.number("cpus"), last_value(case, "machine_cpu_cores")
    if may != 1 or there is None or there < 2 or not use.computes:
        return None
    if use.cores is None or not OF_LIMIT <= use.cores <= ONE_CORE:
        return None
    if (use.training.number("gpus") or 0) > 0:
        return None
    each = duration(use.time.per_step(use.time.stepping))
    return Verdict(
        id="cpu_limited",
        detail="affinity",
        severity="warning",
        confidence="likely",
        headline=f"The process may use one of the {there:.0f} CPUs of this machine",
        because="The kernel says so, and the training used that one all the time.",
        cause_at=use.at,
        stopped_at=case.stopped_at,
        place={"setting": "affinity"},
        evidence=(
            Evidence(
                text=f"Its affinity names 1 CPU; the machine has {there:.0f}.",
                at=use.at,
            ),
            Evidence(
                text=f"Its processes used {use.cores:.1f} cores, and steps took "
                f"{each}.",
                lane="cpu",
                at=use.at,
            ),
        ),
        fixes=(
            Fix(
                title="Let it use all CPUs",
                why="taskset, os.sched_setaffinity, a set of CPUs of the container or "
                "a scheduler that gave one core bind it.",
                code="print(os.sched_getaffinity(0))  # before the training",
            ),
        ),
        chip="One CPU",
        explains=("slow_step",),
    )


def _single_thread_setting(case: Case, training: Training) -> str | None:
    if training.setting("threads.intra_op") == _SINGLE:
        return "intra_op_parallelism_threads"
    settings = case.start.settings if case.start else {}
    if settings.get("env.TF_NUM_INTRAOP_THREADS") == _SINGLE:
        return "TF_NUM_INTRAOP_THREADS"
    if settings.get("env.OMP_NUM_THREADS") == _SINGLE:
        return "OMP_NUM_THREADS"
    return None


def _heat(case: Case, use: _Use) -> Verdict | None:
    times, hot = rates(case, "cpu_throttle_count", use.begin, use.end)
    if len(times) < 4 or not use.computes:
        return None
    is_hot = hot >= HEAT_PER_SECOND
    if not is_hot.any() or is_hot.all() or np.sum(is_hot) < LEAST_SECONDS:
        return None
    step_times, pace = rates(case, "step", use.begin, use.end)
    if len(step_times) < 4:
        return None
    # Which of the two a second belongs to: that of the nearest count.
    index = np.clip(np.searchsorted(times, step_times), 0, len(times) - 1)
    hot_pace = float(np.median(pace[is_hot[index]])) if is_hot[index].any() else 0.0
    cool = pace[~is_hot[index]]
    cool_pace = float(np.median(cool)) if len(cool) >= 3 else 0.0
    if hot_pace <= 0 or cool_pace < SLOWER_WHEN_HOT * hot_pace:
        return None
    since = float(times[is_hot][0])
    at = _moment(case, use, since)
    _, warm = within(case, "temperature_celsius", since, use.end)
    degrees = f" at up to {float(warm.max()):.0f} °C" if len(warm) else ""
    return Verdict(
        id="cpu_limited",
        detail="heat",
        severity="warning",
        confidence="likely",
        headline=f"The processor slowed down for heat{degrees}; steps became "
        f"{cool_pace / hot_pace:.1f} times slower",
        because="The processor counts how often it slowed down, and steps were slow "
        "in the same seconds.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"It slowed down {float(hot[is_hot].sum()):,.0f} times.",
                lane="temperature",
                at=at,
            ),
            Evidence(
                text=f"{cool_pace:.3g} steps a second when cool, {hot_pace:.3g} when "
                "hot.",
                lane="throughput",
                at=at,
            ),
        ),
        fixes=(
            Fix(
                title="Cool the machine, or give it less to do at once",
                why="Dust, a blocked fan or a warm room are the commonest reasons.",
                code="grep . /sys/class/thermal/thermal_zone*/temp",
            ),
        ),
        chip="Overheating",
        explains=("slow_step",),
    )


RULE = Rule(id="cpu_limited", judge=judge, options=(FEW_CORES,))
