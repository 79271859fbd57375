"""Files, threads or processes run out: the kernel gives no more of them.

What it means
  A process may have only so many files open, and a user or container only so many
  processes and threads. Something takes one more each step and gives none back, or
  starts more than is allowed.

How we know
  Open files, threads and their limits are sampled; the kernel counts the processes
  and threads it refused. An exception that says so is told by how the run ended.

What it is mistaken for
  A high number that stays: a data set of many files has them all open.

What to do
  Close what is opened (with open(...)), end what is started. A higher limit only
  delays the end if the number rises.
"""

from dataclasses import dataclass

import numpy as np

from tb_health_plugin.diagnosis import reported
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rates import last_value
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.trends import trend
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Severity,
    Verdict,
)

# From here on a number that still rises will reach its limit before long.
NEAR = Option(
    "near",
    0.5,
    "Share of a limit on handles, threads or processes from which on growth is told.",
)
# So near, the direction of a few samples is enough.
VERY_NEAR = 0.9
LEAST_PART = 0.1
# A rise by fewer is a pool that fills up.
LEAST_RISE = 100.0

_FILES = r"\[Errno 24\]|Too many open files"
_THREADS = r"can't start new thread|pthread_create\(?\)? failed|Thread \S+ creation via"
_EXPLAINS = (
    "code_error",
    "callback_error",
    "input_error",
    "native_crash",
    "input_hang",
)


@dataclass(frozen=True, slots=True)
class _Count:
    """A number that has a limit."""

    detail: str
    words: str
    column: str
    limit: str


_COUNTS = (
    _Count("files", "open files", "process_fds", "process_fd_limit"),
    _Count(
        "processes", "processes and threads", "cgroup_pids_used", "cgroup_pids_limit"
    ),
)


def judge(case: Case) -> Verdict | NotMeasured | None:
    """What the kernel refused, what was said of it, then what will come to that."""
    if case.story.verdict is not None and case.story.verdict.id == "handle_limit":
        return None
    return _refused(case) or _said(case) or _rising(case)


def _refused(case: Case) -> Verdict | None:
    times, denied = case.series("cgroup_pids_denied")
    if len(denied) < 2 or denied[-1] <= denied[0]:
        return None
    first = int(np.argmax(denied > denied[0]))
    at = Moment(step=_step(case, float(times[first])), wall_time=float(times[first]))
    times_refused = float(denied[-1] - denied[0])
    limit = last_value(case, "cgroup_pids_limit")
    allowed = f" The limit is {limit:,.0f}." if limit else ""
    text = f"The kernel refused {times_refused:,.0f} new processes or threads.{allowed}"
    return _verdict(
        case,
        "processes",
        "The limit on processes and threads was reached",
        "The kernel counts what it refuses.",
        "proven",
        _severity(case),
        (Evidence(text=text, at=at),),
        at,
    )


def _said(case: Case) -> Verdict | None:
    for detail, words, pattern in (
        ("files", "open files", _FILES),
        ("threads", "threads", _THREADS),
    ):
        report = reported.find(case, pattern)
        if report is not None:
            return _verdict(
                case,
                detail,
                f"The limit on {words} was reached",
                "It was said in the program's own output.",
                "likely",
                _severity(case),
                (Evidence(text=report.quote(pattern), at=report.at),),
                report.at,
            )
    return None


def _rising(case: Case) -> Verdict | None:
    near = case.tuned(NEAR)
    for count in _COUNTS:
        times, values = case.series(count.column)
        limit = last_value(case, count.limit)
        if not limit or len(values) < 3 or values[-1] < near * limit:
            continue
        line = trend(times, values)
        steadily = (
            line is not None
            and line.change >= LEAST_RISE
            and line.rises_throughout(LEAST_PART)
        )
        at_the_edge = (
            values[-1] >= VERY_NEAR * limit
            and values[-1] - values[0] >= LEAST_RISE
            and bool(np.all(np.diff(values) >= 0))
        )
        if not (steadily or at_the_edge):
            continue
        at = Moment(step=_step(case, float(times[0])), wall_time=float(times[0]))
        text = (
            f"{values[0]:,.0f} {count.words} at first, {values[-1]:,.0f} at last; "
            f"{limit:,.0f} are allowed."
        )
        return _verdict(
            case,
            count.detail,
            f"{values[-1]:,.0f} of {limit:,.0f} {count.words} are in use, and rising",
            "It rose in every part of the run.",
            "likely",
            "warning",
            (Evidence(text=text, at=at),),
            at,
        )
    return None


def _severity(case: Case) -> Severity:
    """Refused and gone on is bad; refused and ended by it is worse."""
    end = case.story.verdict
    return "critical" if end is not None and end.id in _EXPLAINS else "warning"


def _verdict(
    case: Case,
    detail: str,
    headline: str,
    because: str,
    confidence: Confidence,
    severity: Severity,
    evidence: tuple[Evidence, ...],
    at: Moment,
) -> Verdict:
    if detail == "files":
        fix = Fix(
            title="Close what is opened for each batch or epoch",
            why="Each open file stays one until it is closed. Raising ulimit -n only "
            "delays the end.",
            code="with open(path, 'rb') as file:\n    ...",
        )
    else:
        fix = Fix(
            title="Start fewer workers, and end those that are done",
            why="What is started per step or epoch and never ends adds up.",
            code="with concurrent.futures.ThreadPoolExecutor(4) as pool:\n    ...",
        )
    return Verdict(
        id="handle_limit",
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=evidence,
        fixes=(fix,),
        chip=f"Too many {detail}",
        explains=_EXPLAINS,
    )


def _step(case: Case, moment: float) -> int | None:
    times, steps = case.series("step")
    return int(np.interp(moment, times, steps)) if len(times) else None


RULE = Rule(id="handle_limit", judge=judge, options=(NEAR,))
