"""Steps take longer than they need to: run without a graph, or slower and slower.

What it means
  Computing a step is what takes the time, and this run computes it the slow way:
  eagerly, operation by operation; or each step does more work than the one before.

How we know
  Keras says whether it runs eagerly. Slowing down is seen in the CPU time per step,
  which must rise in every part of the run, and in the time that steps take.

What it is mistaken for
  A busy machine: then steps take longer, but no more CPU time. Longer batches, as in
  a curriculum: then shapes grow. Waiting for data, callbacks: timed apart.

What to do
  Take out run_eagerly=True when you are done debugging. Look for lists, graphs or
  arrays that grow with each step.
"""

import math
from collections.abc import Sequence

import numpy as np

from tb_health_plugin.diagnosis import cuda_parts, own_code
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import duration, factor
from tb_health_plugin.diagnosis.rates import within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.time_use import TimeUse, whole
from tb_health_plugin.diagnosis.trends import FEWEST_POINTS, trend
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.reading.table import Array

# Fewer steps, or less time in them, is a look at something and no training.
FEWEST_STEPS = 30
LEAST_SECONDS = 2.0
# Steps must be what the time goes into.
LEAST_SHARE = 0.5
# Eager steps of a model this fast lose nothing worth a word.
LEAST_EAGER_STEP_SECONDS = 0.01
# The work of a step, its CPU time, from the first to the last quarter of the run; in
# every part of it. Less is not worth a word.
MORE_WORK = 2.0
LEAST_PART = 0.1
MOST_PARTS = 16
# A short run is cut into smaller parts, of one sample each.
SHORT_PARTS = 8
SHORT_STRETCHES = 3
# And steps are slower for it, which other programs on the machine may hide in part.
SLOWER = Option(
    "slower",
    1.5,
    "How many times longer steps took at last than at first, to be told.",
)
# TensorFlow says this if it found a GPU and may not use it.
_NO_GPU = r"Cannot dlopen some GPU libraries|Skipping registering GPU devices"
# And this, when a data set is made while all functions run eagerly.
_ALL_EAGER = r"run_functions_eagerly` option is set"


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Slower and slower, then eager, then a GPU that is not used."""
    for training in case.trainings:
        slowing = _slowing(case, training)
        if slowing is not None:
            return slowing
    for training in case.trainings:
        use = whole(training)
        everywhere = training.setting("run_eagerly") != "True"
        is_set = training.setting("functions.eager") == "True"
        if everywhere and not is_set and case.said(_ALL_EAGER) is None:
            continue
        if _is_costly(use):
            return _eager(case, training, use, everywhere)
    return _on_cpu(case)


def _is_costly(use: TimeUse) -> bool:
    return (
        use.steps >= FEWEST_STEPS
        and (use.stepping or 0.0) >= LEAST_SECONDS
        and use.per_step(use.stepping) >= LEAST_EAGER_STEP_SECONDS
        and use.share(use.stepping) >= LEAST_SHARE
    )


def _eager(case: Case, training: Training, use: TimeUse, everywhere: bool) -> Verdict:
    """Args: everywhere: it was set for the whole program, not for the model."""
    compiled = Fix(
        title="Take out run_eagerly=True",
        why="It is meant for debugging. In a graph, print() and breakpoints in the "
        "step work only while it is traced.",
        code="model.compile(..., run_eagerly=False)",
    )
    program = Fix(
        title="Look for tf.config.run_functions_eagerly(True)",
        why="It makes every tf.function of the program run so.",
        code="tf.config.run_functions_eagerly(False)",
    )
    how = "The model was compiled with run_eagerly=True."
    if everywhere:
        how = "tf.config.run_functions_eagerly(True) was on when it began."
    at = training.at(training.started)
    each = duration(use.per_step(use.stepping))
    return Verdict(
        id="slow_step",
        detail="eager",
        severity="warning",
        confidence="likely",
        headline=f"Steps run eagerly, without a graph, and take {each} each",
        because=f"{'TensorFlow' if everywhere else 'Keras'} says that it runs eagerly. "
        "How much faster a graph would be was not tried; several times is usual.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(text=how, at=at),
            Evidence(
                text=f"{use.steps:,} steps took {duration(use.stepping or 0.0)}, "
                f"{use.share(use.stepping):.0%} of the time.",
                lane="throughput",
                at=at,
            ),
        ),
        fixes=(program,) if everywhere else (compiled, program),
        chip="Runs eagerly",
    )


def _slowing(case: Case, training: Training) -> Verdict | None:
    ends, work = _in_parts(case, training, "tree_cpu_seconds")
    line = trend(ends, work)
    if line is None or not line.rises_throughout(LEAST_PART):
        return None
    grew = _last_over_first(work)
    first, last = _paces(case, training)
    if first <= 0 or last < case.tuned(SLOWER) * first or grew < MORE_WORK:
        return None
    if _batches_grew(training):
        return None
    at = training.at(training.started)
    return Verdict(
        id="slow_step",
        detail="slowing_down",
        severity="warning",
        confidence="likely",
        headline=f"Steps became {factor(last / first)} times slower, from "
        f"{duration(first)} to {duration(last)}",
        because="The CPU time of a step rises in every part of the run, so its work "
        "grows; a busy machine would not change that.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"A step took {duration(first)} in the first quarter and "
                f"{duration(last)} in the last.",
                lane="throughput",
                at=at,
            ),
            Evidence(
                text=f"CPU time per step grew {factor(grew)} times.", lane="cpu", at=at
            ),
        ),
        fixes=(
            Fix(
                title="Look for what grows with each step",
                why="Operations added to a graph in the loop, lists that are walked "
                "through, arrays that are joined to longer and longer ones. A profile "
                "names it, and takes some epochs at about half the pace.",
                code=own_code.profiled(case.attempt),
            ),
        ),
        chip="Slowing down",
    )


def _paces(case: Case, training: Training) -> tuple[float, float]:
    """Seconds per step in the first and the last quarter; the first stretch warms up.

    Epochs are looked at where there are more of them than stretches, and the samples of
    a run that is too short for both.
    """
    paces = [
        stretch.step_seconds / stretch.steps
        for stretch in training.spent
        if stretch.steps and stretch.step_seconds
    ]
    epochs = [
        (epoch.wall_time - epoch.started_at) / steps
        for epoch in training.epochs
        if epoch.started_at is not None
        and (steps := (epoch.last_step or 0) - (epoch.first_step or 0)) > 0
    ]
    known = (epochs if len(epochs) > len(paces) else paces)[1:]
    if len(known) < FEWEST_POINTS:
        known = _in_parts(case, training, "wall_time")[1].tolist()
    if len(known) < FEWEST_POINTS:
        return 0.0, 0.0
    quarter = max(1, len(known) // 4)
    return float(np.median(known[:quarter])), float(np.median(known[-quarter:]))


def _in_parts(case: Case, training: Training, what: str) -> tuple[Array, Array]:
    """What a step took of it in equal parts of the training, and where each part ends.

    Of CPU time that is its work: other programs make steps slower, but not more work.
    """
    begin = training.started.wall_time
    # The first stretch warms up. A short run has hardly another one.
    if len(training.spent) > SHORT_STRETCHES:
        begin = max(begin, training.spent[0].wall_time)
    end = training.ended.wall_time if training.ended else math.inf
    times, values = within(case, what, begin, end)
    known, steps = case.series("step")
    # Two samples in each part, or the part tells nothing; in a short run, one.
    parts = min(MOST_PARTS, max(len(times) // 2, min(len(times) - 1, SHORT_PARTS)))
    if parts < FEWEST_POINTS or len(known) < 2:
        return np.empty(0), np.empty(0)
    at = np.interp(times, known, steps)
    marks = np.linspace(at[0], at[-1], parts + 1)
    if not marks[-1] > marks[0]:
        return np.empty(0), np.empty(0)
    spent = np.interp(marks, at, values)
    return marks[1:], np.diff(spent) / np.diff(marks)


def _last_over_first(values: Array) -> float:
    quarter = max(1, len(values) // 4)
    first = float(np.median(values[:quarter]))
    return float(np.median(values[-quarter:])) / first if first > 0 else 0.0


def _batches_grew(training: Training) -> bool:
    sizes: Sequence[int] = [
        math.prod(field.shape)
        for batch in training.batches
        for field in batch.fields[:1]
        if field.shape
    ]
    return len(sizes) >= 2 and sizes[-1] > 1.2 * sizes[0]


def _on_cpu(case: Case) -> Verdict | None:
    training = case.training
    said = case.said(_NO_GPU)
    if said is None or training is None or training.number("gpus") != 0:
        return None
    use = whole(training)
    if use.steps < FEWEST_STEPS or (use.stepping or 0.0) < LEAST_SECONDS:
        return None
    at = Moment(step=said.step, wall_time=said.wall_time)
    return Verdict(
        id="slow_step",
        detail="placed_on_cpu",
        severity="warning",
        confidence="likely",
        headline="The training ran on the CPU: TensorFlow could not use the GPU",
        because="TensorFlow found a GPU and said that libraries for it are missing.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(text=f"TensorFlow said: {(said.message or '')[:160]}", at=at),
            Evidence(text="TensorFlow sees no GPU.", at=at),
        ),
        fixes=(
            Fix(
                title="Install TensorFlow with the CUDA libraries it needs",
                why="The driver is there, the libraries of this version are not.",
                code=cuda_parts.install(case.attempt),
            ),
        ),
        chip="On the CPU",
    )


RULE = Rule(id="slow_step", judge=judge, options=(SLOWER,))
