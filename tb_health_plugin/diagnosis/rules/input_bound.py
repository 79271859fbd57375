"""The training waits for its data: steps could run faster than batches arrive.

What it means
  Most of the time between two steps goes into waiting for the next batch. A faster
  GPU, or more of them, would change nothing.

How we know
  The thread that trains is timed while it waits for a batch. The first epoch is left
  out where later ones exist, because caches fill in it. The Profile tab of
  TensorBoard uses the words "highly input-bound" from 20 % of waiting; we warn from
  half of the time, because of short steps and busy machines.

What it is mistaken for
  Slow steps: then waiting is short. A cold cache: then only the first epoch is slow.
  Very short steps, where waiting is a large share of next to nothing.

What to do
  Prepare batches while the model computes: prefetch, parallel map, more workers.
  Move slow Python code out of the pipeline. Read from a faster or nearer disk.
"""

from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import cores as in_use
from tb_health_plugin.diagnosis.quantities import duration, factor, size
from tb_health_plugin.diagnosis.rates import rate, window
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.smaller_batches import batch_rows
from tb_health_plugin.diagnosis.time_use import TimeUse, steady
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Severity,
    Verdict,
)

# From half of the time on, data is what the training waits for more than anything.
WARNING_SHARE = Option(
    "warning_share",
    0.5,
    "Share of the time spent waiting for data from which on it is a warning.",
)
# What the Profile tab calls "highly input-bound" (openxla/xprof,
# op_stats_to_input_pipeline_analysis.cc).
INFO_SHARE = 0.2
# Waiting that nobody would notice: arrays alone cost up to 1 ms per batch, and a busy
# machine makes 3 of it.
LEAST_WAIT_PER_STEP_SECONDS = 0.005
LEAST_WAIT_SECONDS = 1.0
# A long run loses much by small waits, too.
LONG_WAIT_SECONDS = 60.0
LONG_WAIT_PER_STEP_SECONDS = 0.001
FEWEST_STEPS = 20
# A few seconds of waiting say something of the pipeline only if they are spread over
# the whole run: each stretch waits at least this part of the mean, per step. What comes
# and goes is another program, or something that happens once.
SHORT_WAIT_SECONDS = 10.0
EVEN = 0.25
FEWEST_STEPS_OF_STRETCH = 5
# A process that reads this much and computes this little waits for a disk.
READING_BYTES_PER_SECOND = 1 << 20
IDLE_CORES = 0.6


@dataclass(frozen=True, slots=True)
class _Stage:
    """The part of the pipeline that is slow, as far as it can be told.

    Attributes:
        detail: Stable word.
        why: What was seen of it, as a sentence.
        fixes: What to change, the most useful first.
    """

    detail: str
    why: str
    fixes: tuple[Fix, ...]


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Looks at the training that waited longest."""
    uses = [(training, steady(training)) for training in case.trainings]
    known = [(t, use) for t, use in uses if use.waiting is not None]
    if not known:
        if not any(use.steps for _, use in uses):
            return None
        return NotMeasured(
            what="waiting for data", why="nobody timed the batches of this training"
        )
    training, use = max(known, key=lambda one: one[1].waiting or 0.0)
    if (use.waiting or 0.0) < SHORT_WAIT_SECONDS and _comes_and_goes(training):
        return None
    severity = _severity(case, use)
    return _verdict(case, training, use, severity) if severity else None


def _severity(case: Case, use: TimeUse) -> Severity | None:
    waiting = use.waiting or 0.0
    share, each = use.share(waiting), use.per_step(waiting)
    if use.steps < FEWEST_STEPS or waiting < LEAST_WAIT_SECONDS:
        return None
    is_long = waiting >= LONG_WAIT_SECONDS
    least = LONG_WAIT_PER_STEP_SECONDS if is_long else LEAST_WAIT_PER_STEP_SECONDS
    if each < least or share < INFO_SHARE:
        return None
    return "warning" if share >= case.tuned(WARNING_SHARE) else "info"


def _comes_and_goes(training: Training) -> bool:
    waits = [
        (stretch.wait_seconds or 0.0) / stretch.steps
        for stretch in training.spent
        if (stretch.steps or 0) >= FEWEST_STEPS_OF_STRETCH and stretch.steps
    ]
    return bool(waits) and min(waits) < EVEN * sum(waits) / len(waits)


def _verdict(
    case: Case, training: Training, use: TimeUse, severity: Severity
) -> Verdict:
    waiting = use.waiting or 0.0
    share = use.share(waiting)
    is_long = waiting >= LONG_WAIT_SECONDS
    stage = _stage(case, training)
    at = training.at(training.started)
    each = use.per_step(use.seconds)
    gain = 1 / max(1 - share, 0.02)
    evidence = [
        Evidence(
            text=f"Of {duration(each)} per step, {duration(use.per_step(waiting))} "
            f"were waiting for the next batch, over {use.steps:,} steps.",
            lane="data_wait",
            at=at,
        ),
        Evidence(text=stage.why, strong=False, lane="cpu", at=at),
        Evidence(
            text=f"With batches ready in time it would run up to {factor(gain)} "
            "times as fast.",
            strong=False,
            at=at,
        ),
    ]
    return Verdict(
        id="input_bound",
        detail=stage.detail,
        severity=severity,
        confidence="proven" if is_long else "likely",
        headline=f"The training waited for data {share:.0%} of the time",
        because="The thread that trains was timed while it waited for each batch."
        + ("" if is_long else " It was a short run, though."),
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"stage": stage.detail},
        evidence=tuple(evidence),
        fixes=stage.fixes,
        chip="Slow input",
        explains=("gpu_idle",),
    )


def _stage(case: Case, training: Training) -> _Stage:
    begin, end = window(case, training)
    cores = rate(case, "tree_cpu_seconds", begin, end)
    read = rate(case, "tree_read_bytes", begin, end) or 0.0
    if cores is not None and cores < IDLE_CORES and read >= READING_BYTES_PER_SECOND:
        return _disk(training, cores, read)
    kind = training.setting("data.kind") or ""
    if kind == "PyDataset":
        return _py_dataset(training)
    if kind == "generator":
        return _generator(cores)
    if training.setting("data.python") == "True":
        return _python_function(case, training)
    if kind == "tf.data":
        return _pipeline(training)
    used = "" if cores is None else f" Meanwhile it used {in_use(cores)}."
    return _Stage(
        "unknown",
        f"The data came as {kind or 'an object of the program'}.{used}",
        (
            Fix(
                title="Prepare batches in a tf.data pipeline that runs ahead",
                why="It works in other threads while the model computes. It takes "
                "memory for some batches.",
                code="dataset = dataset.prefetch(tf.data.AUTOTUNE)",
            ),
        ),
    )


def _disk(training: Training, cores: float, read: float) -> _Stage:
    ahead = "super().__init__(workers=8)"
    if training.setting("data.kind") == "tf.data":
        ahead = (
            "files.interleave(read, num_parallel_calls=tf.data.AUTOTUNE).prefetch(8)"
        )
    return _Stage(
        "disk",
        f"Meanwhile {size(read)} a second were read from disk, and only "
        f"{in_use(cores)} was in use: the disk is the slow part.",
        (
            Fix(
                title="Read from a faster or nearer disk, or read less",
                why=f"{size(read)} a second is all that came. Local copies, larger "
                "files read in one go, or compressed records help. A copy takes room, "
                "and the time of reading it all once.",
                code="rsync -a DATA /a/local/disk/",
            ),
            Fix(
                title="Read several files at once, ahead of the training",
                why="It hides the time that a slow or remote disk takes to answer.",
                code=ahead,
            ),
        ),
    )


def _py_dataset(training: Training) -> _Stage:
    workers = training.setting("data.workers") or "1"
    processes = training.setting("data.use_multiprocessing") == "True"
    kind = "processes" if processes else "threads"
    name = training.setting("data.class") or "The PyDataset"
    return _Stage(
        "py_dataset",
        f"{name} makes batches with workers={workers} ({kind}).",
        (
            Fix(
                title="Give it more workers",
                why=f"It has {workers}. Threads help if it waits for files or NumPy; "
                "Python code needs processes, and each takes memory of its own.",
                code=f"super().__init__(workers={_more(workers)}, "
                "use_multiprocessing=True)",
            ),
            Fix(
                title="Do less in __getitem__",
                why="What is the same in each epoch can be done once, before. This "
                "shows what a batch takes its time for.",
                code='cProfile.run("data[0]", sort="cumtime")  # data: a '
                f"{training.setting('data.class') or 'PyDataset'}",
            ),
        ),
    )


def _more(workers: str) -> int:
    return max(4, 2 * int(workers)) if workers.isdecimal() else 4


def _generator(cores: float | None) -> _Stage:
    used = "" if cores is None else f" Meanwhile it used {in_use(cores)}."
    return _Stage(
        "generator",
        f"The data is a Python generator: one thread makes each batch.{used}",
        (
            Fix(
                title="Let several workers make batches",
                why="A generator cannot be shared by workers; a keras.utils.PyDataset "
                "can, batch by batch.",
                code="class Data(keras.utils.PyDataset): ...\n"
                "data = Data(workers=4, use_multiprocessing=True)",
            ),
        ),
    )


def _python_function(case: Case, training: Training) -> _Stage:
    rows = batch_rows(case.attempt) or "batch_size"
    serial = training.setting("data.parallel") == "False"
    how = ", one element after the other" if serial else ""
    return _Stage(
        "python_function",
        f"A map of the pipeline calls Python code (numpy_function or "
        f"py_function){how}; Python runs it in one thread at a time.",
        (
            Fix(
                title="Write that function with TensorFlow operations",
                why="Only then can the pipeline run it in several threads.",
                code="dataset = dataset.map(fn, num_parallel_calls=tf.data.AUTOTUNE)"
                ".prefetch(tf.data.AUTOTUNE)",
            ),
            Fix(
                title="Or call it once per batch, on whole arrays",
                why="NumPy on a batch costs little more than on one element.",
                code=f"dataset = dataset.batch({rows}).map(fn_of_a_batch)",
            ),
        ),
    )


def _pipeline(training: Training) -> _Stage:
    stages = training.setting("data.stages") or "unknown"
    fixes = []
    serial = training.setting("data.parallel") == "False"
    if serial:
        fixes.append(
            Fix(
                title="Run the map in parallel",
                why="It works on one element after the other now.",
                code="dataset = dataset.map(fn, num_parallel_calls=tf.data.AUTOTUNE)",
            )
        )
    ahead = training.setting("data.prefetch") == "True"
    if not ahead:
        fixes.append(
            Fix(
                title="End the pipeline with prefetch",
                why="Without it no batch is prepared while the model computes. It "
                "takes memory for some batches.",
                code="dataset = dataset.prefetch(tf.data.AUTOTUNE)",
            )
        )
    if training.setting("data.cache") != "True":
        fixes.append(
            Fix(
                title="Keep what is the same in each epoch",
                why="After the first epoch it is no longer read and decoded again. "
                "It costs the memory, or the disk, of the whole data set.",
                code='dataset = dataset.cache()  # or cache("/fast/disk/file")',
            )
        )
    detail = "serial_map" if serial else "pipeline" if ahead else "no_prefetch"
    return _Stage(detail, f"Stages of the pipeline: {stages}.", tuple(fixes))


RULE = Rule(id="input_bound", judge=judge, options=(WARNING_SHARE,))
