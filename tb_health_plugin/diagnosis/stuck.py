"""A training that stands still, or stood still until somebody ended it."""

import signal
from dataclasses import replace

from tb_health_plugin.diagnosis.endings import Ending
from tb_health_plugin.diagnosis.moments import is_under_way, stopped_at
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    State,
    Verdict,
)
from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import (
    Frame,
    innermost_own_frame,
    parse,
    training_thread,
)
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# Below two of a unit the smaller one is clearer.
_UNITS = ((7_200, 3_600, "h", "hours"), (120, 60, "min", "minutes"))

_IDS = {
    "data": ("input_hang", "Hung on data"),
    "callback": ("callback_hang", "Hung in callback"),
    "stopped": ("stopped_process", "Was stopped"),
}
_OTHER = ("compute_hang", "Hung")

# What people and schedulers send to a training that hangs.
_ENDED_BY: dict[int, tuple[State, str]] = {
    int(signal.SIGKILL): ("died", "was killed"),
    int(signal.SIGTERM): ("ended_early", "was asked to stop"),
    int(signal.SIGINT): ("ended_early", "was stopped by Ctrl-C"),
}

_FIXES = {
    "data": Fix(
        title="Find what should make the next batch",
        why="The loop waits for data. The stacks below show the threads and processes "
        "that make it, and the line each of them stands at.",
    ),
    "callback": Fix(
        title="Give what the callback waits for a time limit",
        why="fit() goes on only when every callback has returned, and this one has "
        "not.",
    ),
    "lock": Fix(
        title="Take locks with a time limit, and always in the same order",
        why="The thread that trains waits for a lock. The stacks below show who may "
        "hold it.",
        code="lock.acquire(timeout=60)",
    ),
    "disk": Fix(
        title="Look at the disk or network file system",
        why="The kernel itself waits for it. Until it answers, not even SIGKILL ends "
        "the process.",
    ),
    "peer": Fix(
        title="Look at the other workers",
        why="A step with others ends when all have come. One that is gone holds all.",
    ),
    "busy": Fix(
        title="Look for a loop that does not end",
        why="It computes and finishes nothing. The stack below shows the line.",
    ),
    "unknown": Fix(
        title="Install py-spy where it trains, to see native frames",
        why="The Python stack alone does not say what it waits for.",
        code="pip install py-spy",
    ),
}


def hang(attempt: Attempt, life: Life) -> Ending | None:
    """The stall that the attempt is in, or was in to its end; None without one."""
    stall = _open_stall(attempt)
    if stall is None:
        return None
    end = attempt.last(facts.RunEnded)
    seen = attempt.last(facts.ProcessEnded)
    if end is None and seen is None and life.alive:
        return _stuck(attempt, stall)
    if end is not None and end.reason == "interrupted":
        return _ended(attempt, stall, int(signal.SIGINT))
    if end is None and seen is not None and seen.signal in _ENDED_BY:
        # A kill for memory has its own cause.
        if seen.cgroup_oom_kills or seen.machine_oom_kills:
            return None
        return _ended(attempt, stall, seen.signal)
    return None


def _open_stall(attempt: Attempt) -> facts.Stalled | None:
    stall = attempt.last(facts.Stalled)
    over = attempt.last(facts.StallEnded)
    if stall is None or not is_under_way(attempt):
        return None
    if over is not None and over.wall_time >= stall.wall_time:
        return None
    # Nobody said that it went on, but it did.
    return None if attempt.last_step > stall.step else stall


def _stuck(attempt: Attempt, stall: facts.Stalled) -> Ending:
    seconds = _seconds(attempt, stall)
    last = f"last: step {stall.step:,}" if stall.step else "not even the first"
    headline = f"No step has finished for {_words(seconds)} ({last})"
    verdict = _verdict(attempt, stall, headline)
    return Ending("stuck", f"Stuck for {_short(seconds)}", verdict)


def _ended(attempt: Attempt, stall: facts.Stalled, number: int) -> Ending:
    state, how = _ENDED_BY[number]
    where = f"at step {stall.step:,}" if stall.step else "before the first step"
    silent = _words(_seconds(attempt, stall))
    headline = f"Stood still for {silent} {where}, then {how}"
    verdict = _verdict(attempt, stall, headline)
    name = signal.Signals(number).name
    kill = Evidence(
        text=f"It was still standing still when {name} ended it.",
        strong=False,
        at=stopped_at(attempt),
    )
    _, chip = _IDS.get(stall.waits_for or "", _OTHER)
    return Ending(state, chip, replace(verdict, evidence=(*verdict.evidence, kill)))


def _verdict(attempt: Attempt, stall: facts.Stalled, headline: str) -> Verdict:
    waits_for = stall.waits_for or "unknown"
    frame = _place(stall)
    at = Moment(step=stall.step, wall_time=stall.since)
    return Verdict(
        id=_IDS.get(waits_for, _OTHER)[0],
        detail=waits_for,
        severity="critical",
        confidence=_confidence(waits_for),
        headline=headline,
        because=stall.because or "What it waits for was not seen.",
        cause_at=at,
        stopped_at=at,
        place={"file": frame.file, "line": frame.line} if frame else {},
        evidence=_evidence(stall, frame, at),
        fixes=(_fix(attempt, waits_for),),
    )


def _confidence(waits_for: str) -> Confidence:
    if waits_for == "stopped":
        # The kernel says so itself.
        return "proven"
    return "possible" if waits_for == "unknown" else "likely"


def _evidence(
    stall: facts.Stalled, frame: Frame | None, at: Moment
) -> tuple[Evidence, ...]:
    silence = f"Nothing went on for {_words(stall.silent_seconds or 0)}"
    if stall.usual_seconds:
        silence += f"; in this run it usually takes {_usual(stall.usual_seconds)}"
    found = [Evidence(text=f"{silence}.", at=at)]
    if stall.because:
        found.append(Evidence(text=stall.because, at=at))
    if stall.cpu_fraction is not None:
        text = f"Its processes used {stall.cpu_fraction:.0%} of a core in that time."
        found.append(Evidence(text=text, strong=False, at=at))
    if frame:
        text = f"Python stood at {frame.file}, line {frame.line} in {frame.function}."
        found.append(Evidence(text=text, strong=False, at=at))
    return tuple(found)


def _fix(attempt: Attempt, waits_for: str) -> Fix:
    pid = attempt.start.pid if attempt.start else None
    if waits_for == "stopped":
        return Fix(
            title="Let it go on",
            why="It does not hang: the kernel was told not to run it.",
            code=f"kill -CONT {pid}" if pid else None,
        )
    known = {**_FIXES, "compile": _FIXES["busy"]}
    return known.get(waits_for, _FIXES["unknown"])


def _place(stall: facts.Stalled) -> Frame | None:
    """The user's line that is named: where it waits, or where its data is made."""
    threads = parse(stall.stacks or "")
    frames = [innermost_own_frame(thread) for thread in threads]
    for frame in frames:
        if frame and f"{frame.file}, line {frame.line}" in (stall.because or ""):
            return frame
    return innermost_own_frame(training_thread(threads))


def _seconds(attempt: Attempt, stall: facts.Stalled) -> float:
    since = stall.since or stall.wall_time
    return max((attempt.last_seen_at or 0.0) - since, stall.silent_seconds or 0.0)


def _usual(seconds: float) -> str:
    return f"{seconds * 1_000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _words(seconds: float) -> str:
    for least, unit, _, name in _UNITS:
        if seconds >= least:
            return f"{seconds // unit:,.0f} {name}"
    return f"{seconds:.0f} seconds"


def _short(seconds: float) -> str:
    for least, unit, short, _ in _UNITS:
        if seconds >= least:
            return f"{seconds // unit:,.0f} {short}"
    return f"{seconds:.0f} s"
