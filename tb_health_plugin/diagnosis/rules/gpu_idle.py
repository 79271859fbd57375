"""A GPU was there, and did little or nothing.

What it means
  The training ran, and a GPU that it may see had hardly any work: because TensorFlow
  cannot use it, because the work was placed on the CPU, because batches did not come in
  time, or because Python starts work in too small pieces.

How we know
  The driver says each second how busy each GPU is. TensorFlow says how many it sees.
  The wait for data and the use of the CPU are measured beside it.

What it is mistaken for
  A program that hides its GPUs on purpose, or a TensorFlow that was built without
  CUDA: told as good to know only. With CUDA_VISIBLE_DEVICES=-1 nothing is told. A
  small model: its steps are too short to fill a GPU, and that is no fault. A warm-up:
  the first stretch is left out.

What to do
  Install the libraries of CUDA that belong to this TensorFlow, take out tf.device,
  prepare batches ahead, run several steps per call, or make batches larger.
"""

from dataclasses import dataclass

from tb_health_plugin.diagnosis import cuda_parts, own_code
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.gpus import measured_gpus, named
from tb_health_plugin.diagnosis.quantities import cores, duration
from tb_health_plugin.diagnosis.rates import rate, window, within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.time_use import TimeUse, whole
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Severity,
    Verdict,
)

# Shorter runs are looks at something.
LEAST_SECONDS = 30.0
FEWEST_STEPS = 20
# Samples of a GPU that was measured too seldom say nothing.
FEWEST_SAMPLES = 10
# Mean of how busy it was. Below the first it did nothing but be looked at.
NOTHING = 0.02
LITTLE = 0.3
# From half of the time on, waiting for data is the reason.
WAITING_SHARE = 0.5
# Less than this, and the CPU did not do the work either.
WORKING_CORES = 0.7


@dataclass(frozen=True, slots=True)
class _Seen:
    """The GPUs while a training ran.

    Attributes:
        busy: Mean of how busy each was.
        cores: CPU cores that the training used; None if not measured.
        use: Where its time went.
    """

    busy: dict[int, float]
    cores: float | None
    use: TimeUse


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Looks at the last training that was long enough."""
    for training in reversed(case.trainings):
        seen = _seen(case, training)
        if seen is not None:
            return _of(case, training, seen)
    return None


def _seen(case: Case, training: Training) -> _Seen | None:
    use = whole(training)
    begin, end = window(case, training)
    if training.spent:
        # Tracing and warming up.
        begin = max(begin, training.spent[0].wall_time)
    if end - begin < LEAST_SECONDS or use.steps < FEWEST_STEPS:
        return None
    busy = {}
    for gpu in measured_gpus(case):
        _, values = within(case, f"gpu{gpu}_busy_fraction", begin, end)
        if len(values) >= FEWEST_SAMPLES:
            busy[gpu] = float(values.mean())
    if not busy:
        return None
    return _Seen(busy, rate(case, "tree_cpu_seconds", begin, end), use)


def _of(case: Case, training: Training, seen: _Seen) -> Verdict | None:
    most = max(seen.busy.values())
    if training.setting("gpus") == "0":
        return _not_seen(case, training, seen) if most < LITTLE else None
    if most >= LITTLE:
        return _some(case, training, seen)
    if seen.use.share(seen.use.waiting) >= WAITING_SHARE:
        return _starved(case, training, seen)
    if most < NOTHING and training.setting("gpus") is not None:
        works = seen.cores is not None and seen.cores >= WORKING_CORES
        return _placed_on_cpu(case, training, seen) if works else None
    return _small_pieces(case, training, seen)


def _not_seen(case: Case, training: Training, seen: _Seen) -> Verdict | None:
    """TensorFlow sees no GPU, and the driver does."""
    physical = training.setting("gpus.physical")
    if physical is None:
        return None
    shown = ", ".join(named(case, gpu) for gpu in seen.busy)
    if physical != "0":
        return _verdict(
            case,
            training,
            seen,
            detail="hidden",
            severity="info",
            headline="The program hides its GPU from TensorFlow",
            why="TensorFlow could use it and was told not to (set_visible_devices).",
            fixes=(),
        )
    # A build without CUDA was mostly chosen; one that finds no GPU hardly ever.
    chosen = training.setting("gpus.cuda_build") == "False"
    build = "is built without CUDA" if chosen else "sees no GPU"
    missing = "this build has no CUDA in it" if chosen else "its libraries are missing"
    return _verdict(
        case,
        training,
        seen,
        detail="placed_on_cpu",
        severity="info" if chosen else "warning",
        headline=f"This TensorFlow {build}: the training ran on the CPU",
        why=f"The driver shows {shown}; TensorFlow lists no GPU.",
        fixes=(
            Fix(
                title="Install TensorFlow with the CUDA libraries it needs",
                why=f"The driver is there; {missing}. If it is to train on the CPU, "
                "hide the GPU: CUDA_VISIBLE_DEVICES=-1.",
                code=cuda_parts.install(case.attempt),
            ),
        ),
    )


def _placed_on_cpu(case: Case, training: Training, seen: _Seen) -> Verdict:
    return _verdict(
        case,
        training,
        seen,
        detail="placed_on_cpu",
        severity="warning",
        headline=f"The work was done on the CPU: {_first(seen)} did nothing",
        why=f"TensorFlow sees it, and {cores(seen.cores or 0.0)} worked instead.",
        fixes=(
            Fix(
                title='Look for tf.device("/CPU:0"), and for operations without a '
                "kernel for GPUs",
                why="TensorFlow puts work on a GPU by itself unless it is told not to.",
                code="tf.debugging.set_log_device_placement(True)",
            ),
        ),
    )


def _starved(case: Case, training: Training, seen: _Seen) -> Verdict:
    share = seen.use.share(seen.use.waiting)
    busy = max(seen.busy.values())
    return _verdict(
        case,
        training,
        seen,
        detail="input",
        # Waiting for data is a finding of its own, with what to change.
        severity="info",
        headline=f"The GPU was busy {busy:.0%} of the time: it waits for data",
        why=f"The training waited for batches {share:.0%} of the time.",
        fixes=(),
    )


def _small_pieces(case: Case, training: Training, seen: _Seen) -> Verdict:
    use, busy = seen.use, max(seen.busy.values())
    batch = training.setting("batch_size") or ""
    fixes = [
        Fix(
            title="Run several steps per call",
            why="Each call of Python costs time in which the GPU has no work. "
            "Callbacks then see every 16th batch only.",
            code="model.compile(..., steps_per_execution=16)",
        )
    ]
    if batch.isdecimal():
        larger = Fix(
            title="Try larger batches",
            why=f"A batch has {int(batch):,} rows now; the learning rate may have to "
            "follow.",
            code=f"batch_size={4 * int(batch)}",
        )
        fixes.append(larger)
    return _verdict(
        case,
        training,
        seen,
        detail="small_steps",
        severity="info",
        headline=f"The GPU was busy {busy:.0%} of the time: steps are small",
        why=f"A step takes {duration(use.per_step(use.seconds))}, and little of it is "
        "spent waiting for data.",
        fixes=tuple(fixes),
    )


def _some(case: Case, training: Training, seen: _Seen) -> Verdict | None:
    """Several GPUs, of which some did nothing."""
    idle = [gpu for gpu, busy in seen.busy.items() if busy < NOTHING]
    if not idle or training.setting("strategy"):
        return None
    used = [str(gpu) for gpu, busy in seen.busy.items() if busy >= LITTLE]
    return _verdict(
        case,
        training,
        seen,
        detail="some_unused",
        severity="info",
        headline=f"{len(idle)} of {len(seen.busy)} GPUs did nothing",
        why="Without a distribution strategy TensorFlow computes on one GPU only, and "
        "reserves memory of all.",
        fixes=(
            Fix(
                title="Leave the others to somebody else",
                why="This training does not use them.",
                code=own_code.started(
                    case.attempt, CUDA_VISIBLE_DEVICES=",".join(used)
                ),
            ),
            Fix(
                title="Or train on all of them",
                why="Each one then works on its part of a batch.",
                code="with tf.distribute.MirroredStrategy().scope(): ...",
            ),
        ),
    )


def _first(seen: _Seen) -> str:
    return f"GPU {min(seen.busy)}" if len(seen.busy) == 1 else "the GPUs"


def _verdict(
    case: Case,
    training: Training,
    seen: _Seen,
    *,
    detail: str,
    severity: Severity,
    headline: str,
    why: str,
    fixes: tuple[Fix, ...],
) -> Verdict:
    at = training.at(training.started)
    begin, end = window(case, training)
    evidence = [Evidence(text=why, at=at)]
    for gpu, busy in list(seen.busy.items())[:4]:
        text = f"{named(case, gpu)} was busy {busy:.0%} of {duration(end - begin)}."
        evidence.append(Evidence(text=text, lane="gpu", at=at))
    if seen.cores is not None:
        text = f"The training used {cores(seen.cores)} of the CPU."
        evidence.append(Evidence(text=text, strong=False, lane="cpu", at=at))
    return Verdict(
        id="gpu_idle",
        detail=detail,
        severity=severity,
        confidence="likely",
        headline=headline,
        because="NVIDIA's driver tells how busy a GPU is.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=tuple(evidence),
        fixes=fixes,
        chip="GPU unused" if detail == "placed_on_cpu" else "GPU mostly idle",
        # What is only good to know must not stand above a warning.
        explains=("slow_step",) if severity == "warning" else (),
    )


RULE = Rule(id="gpu_idle", judge=judge)
