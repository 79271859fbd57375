"""A disk that the run writes to is full, whether or not anything said so.

What it means
  The file system of the log, of temporary files or of checkpoints had no room left.
  What was written then is lost, also when nothing raised: many loggers swallow it.

How we know
  Free room is sampled on the file systems of the log and of temporary files. Errors
  that name it are kept: in warnings, in output, in what our own files met. An
  exception that ended the run is told by how it ended.

What it is mistaken for
  A save that failed for another reason: then room was left.

What to do
  Keep fewer checkpoints, write elsewhere, free room.
"""

import re

import numpy as np

from tb_health_plugin.diagnosis import reported
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.quantities import size
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Severity,
    Verdict,
)
from tb_health_plugin.events import facts

# Less than this is full: nothing that a training writes fits in.
FULL_BYTES = 1 << 20
# What a file system can hold of small files.
FEW_INODES = 10.0
# Room that was there before: a file system that never tells a number is not full.
HAD_BYTES = 4 << 20

# A run fills so much in minutes.
LITTLE_BYTES = 64 << 20

_FULL = (
    r"\[Errno 28\]|\[Errno 122\]|No space left on device|Disk quota exceeded"
    r"|errno = 28\b|errno = 122\b|\d+ requested and \d+ written"
)
_OPEN = "files that the training writes"
_SYSTEMS = (
    ("logdir_disk_free_bytes", "log", "the log directory", FULL_BYTES, HAD_BYTES),
    ("logdir_disk_free_inodes", "log", "the log directory", FEW_INODES, 1_000.0),
    ("save_disk_free_bytes", "save", "the checkpoints", FULL_BYTES, HAD_BYTES),
    ("save_disk_free_inodes", "save", "the checkpoints", FEW_INODES, 1_000.0),
    ("files_disk_free_bytes", "files", _OPEN, FULL_BYTES, HAD_BYTES),
    ("files_disk_free_inodes", "files", _OPEN, FEW_INODES, 1_000.0),
    ("temp_disk_free_bytes", "temp", "temporary files", FULL_BYTES, HAD_BYTES),
    ("temp_disk_free_inodes", "temp", "temporary files", FEW_INODES, 1_000.0),
)
_EXPLAINS = (
    "code_error",
    "callback_error",
    "checkpoint_failure",
    "input_error",
    "native_crash",
    "unknown",
)


def judge(case: Case) -> Verdict | NotMeasured | None:
    """What was said of it, then what free room shows."""
    if case.story.verdict is not None and case.story.verdict.id == "disk_full":
        return None
    return _recording(case) or _said(case) or _measured(case) or _broken_off(case)


def _recording(case: Case) -> Verdict | None:
    """Our own files met it: the user's files beside them did, too."""
    for stopped in case.attempt.all(facts.RecordingStopped):
        if re.search(_FULL, stopped.why or "", re.IGNORECASE):
            began = stopped.began_at or stopped.wall_time
            at = Moment(step=stopped.step, wall_time=began)
            text = f"Recording {stopped.what or 'this run'} failed: {stopped.why}"
            return _verdict(
                case,
                "log",
                "the log directory",
                "Our own files met it, beside those of the run.",
                "proven",
                (Evidence(text=text, at=at),),
                at,
            )
    return None


def _said(case: Case) -> Verdict | None:
    report = reported.find(case, _FULL)
    if report is None:
        return None
    path = re.search(r"['\"](/[^'\"\n]+)['\"]", report.quote(_FULL))
    return _verdict(
        case,
        path[1] if path else "unknown",
        path[1] if path else "something the run writes to",
        "The kernel refused to write for lack of room, and that was said.",
        "proven",
        (Evidence(text=report.quote(_FULL), at=report.at),),
        report.at,
    )


def _measured(case: Case) -> Verdict | None:
    for column, detail, words, full, had in _SYSTEMS:
        times, free = case.series(column)
        if not len(free) or float(free.max()) < had or float(free.min()) >= full:
            continue
        first = int(np.argmax(free < full))
        if float(free[: first + 1].max()) < had:
            continue
        known, steps = case.series("step")
        step = int(np.interp(times[first], known, steps)) if len(known) else None
        at = Moment(step=step, wall_time=float(times[first]))
        before = float(free[: first + 1].max())
        if "inodes" in column:
            text = f"{before:,.0f} files could be made there before, then none."
        else:
            text = f"{size(before)} were free there before, {size(free[first])} then."
            if detail == "files":
                text += _which(case)
        return _verdict(
            case,
            detail,
            words,
            "Room that was there before is gone; what was written since then may be "
            "lost.",
            "likely",
            (Evidence(text=text, lane="disk", at=at),),
            at,
        )
    return None


def _which(case: Case) -> str:
    """What tells that disk from others: nothing names it."""
    _, total = case.series("files_disk_total_bytes")
    return f" That disk holds {size(float(total[-1]))} in all." if len(total) else ""


def _broken_off(case: Case) -> Verdict | None:
    """The record stops without an end, on a file system with little room."""
    _, free = case.series("logdir_disk_free_bytes")
    end = case.story.verdict
    if end is None or end.id != "unknown" or not len(free) or free[-1] > LITTLE_BYTES:
        return None
    at = case.stopped_at
    text = f"{size(float(free[-1]))} were free there when it was last looked at."
    return _verdict(
        case,
        "log",
        "the log directory",
        "The record breaks off and nothing says how the run ended: where there is "
        "no room, an end cannot be written.",
        "possible",
        (Evidence(text=text, strong=False, at=at),),
        at,
    )


def _verdict(
    case: Case,
    detail: str,
    words: str,
    because: str,
    confidence: Confidence,
    evidence: tuple[Evidence, ...],
    at: Moment,
) -> Verdict:
    end = case.story.verdict
    ended = end is not None and end.id in _EXPLAINS
    severity: Severity = "critical" if ended else "warning"
    where = f" at step {at.step:,}" if at.step else ""
    saved = [s for s in case.attempt.all(facts.Saved) if s.size_bytes and s.ok]
    paths = {s.path for s in saved}
    fixes = []
    if len(paths) > 1:
        largest = max(s.size_bytes or 0 for s in saved)
        fixes.append(
            Fix(
                title="Keep only the best checkpoint",
                why=f"{len(paths):,} were kept, of up to {size(largest)} each.",
                code='keras.callbacks.ModelCheckpoint("best.keras", '
                "save_best_only=True)",
            )
        )
    fixes.append(
        Fix(
            title="Free room there, or write elsewhere",
            why="The next run loses its files in the same place otherwise.",
            code="df -h && df -i",
        )
    )
    return Verdict(
        id="disk_full",
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=f"{_how_sure(confidence)} disk of {words} filled up{where}",
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"file_system": detail},
        evidence=evidence,
        fixes=tuple(fixes),
        chip="Disk full",
        explains=_EXPLAINS,
    )


def _how_sure(confidence: Confidence) -> str:
    return "Probably the" if confidence == "possible" else "The"


RULE = Rule(id="disk_full", judge=judge)
