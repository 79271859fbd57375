"""Writing is what the run waits for: checkpoints or files of its own take the time.

What it means
  The training stands still while something is written, and the disk, not the
  processor, is what takes so long.

How we know
  Each save is timed and its size is known; in the same seconds the processes hardly
  computed. For what callbacks write themselves, bytes written and the kernel's count
  of time lost to disks are looked at.

What it is mistaken for
  A callback that computes for long, or saves too often: then a core is busy. Reading
  data slowly is told as slow input.

What to do
  Write to a local disk and copy later; save less often, or weights only.
"""

import shlex
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import cores as in_use
from tb_health_plugin.diagnosis.quantities import duration, size
from tb_health_plugin.diagnosis.rates import rate, window
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.time_use import TimeUse, whole
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.events import facts

# A third of the time: what the user sees is waiting.
LEAST_SHARE = Option(
    "least_share",
    0.3,
    "Share of the time spent waiting for writes from which on it is told.",
)
LEAST_SECONDS = 3.0
# A save of less is over before a sample can see what went on in it.
LEAST_SAVE_SECONDS = 1.0
# Any local disk, and a network file system that is well, writes faster.
SLOW_BYTES_PER_SECOND = 20 * (1 << 20)
# While it waits for a disk a process computes nothing.
IDLE_CORES = 0.5
WRITING_BYTES_PER_SECOND = 256 * 1024
STALLED_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class _Slow:
    """What writes slowly.

    Attributes:
        who: The callback, or None.
        seconds: In all.
        pace: Bytes a second.
        why: What was seen, as a sentence.
        at: When it began.
        often: How many saves.
        where: The folder that is written to, or a word for it.
    """

    who: str | None
    seconds: float
    pace: float
    why: str
    at: Moment
    often: int
    where: str = "this disk"


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Saves first, then callbacks that write."""
    for training in case.trainings:
        use = whole(training)
        slow = _saves(case, training, use) or _callback(case, training, use)
        if slow is not None:
            return _verdict(case, use, slow)
    return None


def _saves(case: Case, training: Training, use: TimeUse) -> _Slow | None:
    least_share = case.tuned(LEAST_SHARE)
    long = [s for s in training.saves if (s.seconds or 0.0) >= LEAST_SAVE_SECONDS]
    sized = [s for s in long if s.size_bytes]
    seconds = sum(s.seconds or 0.0 for s in long)
    if not sized or seconds < LEAST_SECONDS or use.share(seconds) < least_share:
        return None
    pace = sum(s.size_bytes or 0 for s in sized) / sum(s.seconds or 0.0 for s in sized)
    cores = _cores(case, long)
    if pace > SLOW_BYTES_PER_SECOND or cores is None or cores > IDLE_CORES:
        return None
    why = (
        f"{len(long):,} saves took {duration(seconds)}, at {size(pace)} a second; "
        f"meanwhile {in_use(cores)} was in use."
    )
    first, at = long[0], training.at(long[0])
    where = (first.path or "").rpartition("/")[0] or "this disk"
    return _Slow(first.callback, seconds, pace, why, at, len(long), where)


def _cores(case: Case, saves: list[facts.Saved]) -> float | None:
    """Cores in use while it saved."""
    seen = [
        rate(
            case,
            "tree_cpu_seconds",
            save.wall_time - (save.seconds or 0.0) - 1.0,
            save.wall_time + 1.0,
        )
        for save in saves
    ]
    known = sorted(cores for cores in seen if cores is not None)
    return known[len(known) // 2] if known else None


def _callback(case: Case, training: Training, use: TimeUse) -> _Slow | None:
    least_share = case.tuned(LEAST_SHARE)
    begin, end = window(case, training)
    name = max(use.callbacks, key=lambda n: use.callbacks[n], default=None)
    if name is None:
        return None
    seconds = use.callbacks[name]
    cores = rate(case, "tree_cpu_seconds", begin, end)
    pace = rate(case, "tree_write_bytes", begin, end) or 0.0
    stalled = rate(case, "pressure_io_full_seconds", begin, end)
    if stalled is None:
        stalled = rate(case, "machine_iowait_seconds", begin, end) or 0.0
    waits = (
        cores is not None
        and cores <= IDLE_CORES
        and pace >= WRITING_BYTES_PER_SECOND
        and stalled >= STALLED_SHARE
    )
    if seconds < LEAST_SECONDS or use.share(seconds) < least_share or not waits:
        return None
    why = (
        f"{name} took {duration(seconds)}; {size(pace)} a second were written, and "
        f"everything waited for disks {stalled:.0%} of the time."
    )
    at = training.at(training.started)
    return _Slow(name, seconds, pace, why, at, 0)


def _verdict(case: Case, use: TimeUse, slow: _Slow) -> Verdict:
    share = use.share(slow.seconds)
    what = "saving the model" if slow.often else "writing files"
    place: dict[str, str | int] = {"callback": slow.who} if slow.who else {}
    return Verdict(
        id="disk_slow",
        detail=slow.who or "program",
        severity="warning",
        confidence="likely",
        headline=f"{share:.0%} of the time went into {what}, at {size(slow.pace)} "
        "a second",
        because="The processes hardly computed while it was written: the disk is "
        "the slow part.",
        cause_at=slow.at,
        stopped_at=case.stopped_at,
        place=place,
        evidence=(Evidence(text=slow.why, lane="disk", at=slow.at),),
        fixes=(
            Fix(
                title="Write to a local disk, and copy it away afterwards",
                why=f"{size(slow.pace)} a second is all that {slow.where} takes. "
                "A copy afterwards does not hold up the training.",
                code=f"df -h {shlex.quote(slow.where)}"
                if slow.where.startswith("/")
                else "df -h",
            ),
            Fix(
                title="Write less: weights only, and less often",
                why="A model with its optimizer is three times as large with Adam. "
                "The state of the optimizer is then lost in a restart.",
                code='keras.callbacks.ModelCheckpoint("last.weights.h5", '
                "save_weights_only=True)",
            ),
        ),
        chip="Slow disk",
        explains=("slow_callback",),
    )


RULE = Rule(id="disk_slow", judge=judge, options=(LEAST_SHARE,))
