"""A GPU reported a fault of its own, or stopped answering.

What it means
  The card, its memory, its bus or its driver failed. What it computed since then
  cannot be trusted, and mostly the training ends with an error that names no cause.

How we know
  The driver says so: it reports an error number (XID) as the error happens, counts
  errors of memory that could not be corrected, and answers "GPU is lost" for a card
  that fell off the bus. Numbers that a program's own mistake can cause (13, 31, 69,
  137) count only if the training failed: they may be of another program on the card.

What it is mistaken for
  Errors counted before this training began: those are not held against it. Numbers 43
  and 45 only say that a program was cleaned up after another fault. Number 63 is a
  repair that worked. Number 92 tells of errors that were all corrected, and is only
  good to know.

What to do
  What NVIDIA advises for the number: start the training again, reset the GPU, or
  restart the machine; then run NVIDIA's diagnostics. A card that does it again should
  be replaced.
"""

from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.gpu_faults import EXPLAINS, action_on, fixes
from tb_health_plugin.diagnosis.gpus import label, measured_gpus, moment, named
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    NotMeasured,
    Severity,
    Verdict,
)
from tb_health_plugin.diagnosis.xids import XIDS

_FAILED = ("failed", "died")


@dataclass(frozen=True, slots=True)
class _Fault:
    gpu: int
    detail: str
    what: str
    at: float
    severity: Severity = "critical"
    confidence: Confidence = "proven"
    by_program: bool = False


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Lost, then error numbers, then counters; the first one in time of a kind."""
    found = [fault for gpu in measured_gpus(case) for fault in _faults(case, gpu)]
    if not found:
        return None
    return _verdict(case, min(found, key=_order), found)


def _order(fault: _Fault) -> tuple[bool, bool, bool, float]:
    severity = fault.severity
    return severity == "info", fault.by_program, severity != "critical", fault.at


def _faults(case: Case, gpu: int) -> list[_Fault]:
    return [*_xids(case, gpu), *_lost(case, gpu), *_memory(case, gpu)]


def _lost(case: Case, gpu: int) -> list[_Fault]:
    times, lost = case.series(f"gpu{gpu}_lost")
    when = times[lost == 1.0]
    if not len(when):
        return []
    return [_Fault(gpu, "lost", "it does not answer any more", float(when[0]))]


def _xids(case: Case, gpu: int) -> list[_Fault]:
    found = []
    failed = case.story.state in _FAILED
    for time, number in zip(*case.series(f"gpu{gpu}_xid"), strict=True):
        known = XIDS.get(int(number))
        if known is None or (known.by_program and not failed):
            continue
        # The card tells of every program on it: one that must start again because of
        # it has failed, and this one did not.
        severity: Severity = "critical"
        if known.action == "watch":
            severity = "info"
        elif known.action == "restart" and not failed:
            severity = "warning"
        found.append(
            _Fault(
                gpu,
                f"xid {int(number)}",
                f"{known.meaning} (XID {int(number)})",
                float(time),
                severity=severity,
                confidence="likely" if known.by_program else "proven",
                by_program=known.by_program,
            )
        )
    return found


def _memory(case: Case, gpu: int) -> list[_Fault]:
    found = []
    times, errors = case.series(f"gpu{gpu}_ecc_uncorrected_errors")
    # The driver counts since it was loaded: only what came in this run is of it.
    if len(errors) and errors.max() > errors[0]:
        count = float(errors.max() - errors[0])
        what = f"{count:,.0f} errors" if count > 1 else "an error"
        what += " of its memory could not be corrected"
        found.append(_Fault(gpu, "ecc", what, float(times[errors > errors[0]][0])))
    times, failed = case.series(f"gpu{gpu}_remap_failed")
    if (failed == 1.0).any():
        what = "a broken row of its memory could not be replaced"
        at = float(times[failed == 1.0][0])
        found.append(_Fault(gpu, "ecc", what, at, severity="warning"))
    return found


def _verdict(case: Case, first: _Fault, found: list[_Fault]) -> Verdict:
    chip = "GPU lost" if first.detail in ("lost", "xid 79") else "GPU fault"
    # What is only good to know has not failed.
    verb = "reports" if first.severity == "info" else "failed"
    evidence = tuple(
        Evidence(
            text=f"{named(case, one.gpu)}: {one.what}.",
            lane="gpu",
            at=moment(case, one.at),
        )
        for one in sorted(found, key=_order)[:5]
    )
    return Verdict(
        id="gpu_fault",
        detail=first.detail,
        severity=first.severity,
        confidence=first.confidence,
        headline=f"GPU {first.gpu} {verb}: {first.what}",
        because="NVIDIA's driver reported it while the training ran.",
        cause_at=moment(case, first.at),
        stopped_at=case.stopped_at,
        place={"gpu": first.gpu},
        evidence=evidence,
        fixes=fixes(
            case.attempt,
            by_program=first.by_program,
            action=action_on(first.detail),
            gpu=label(case, first.gpu),
        ),
        chip=chip,
        explains=() if first.severity == "info" else EXPLAINS,
    )


RULE = Rule(id="gpu_fault", judge=judge)
