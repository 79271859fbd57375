"""A training that stands still, or stood still until somebody ended it."""

import signal
from dataclasses import replace

from tb_health_plugin.diagnosis import (
    absent_peer,
    durations,
    endless,
    hosting,
    own_code,
    silence,
)
from tb_health_plugin.diagnosis.callback_names import callback_of
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.hang_words import FIXES
from tb_health_plugin.diagnosis.memory_kills import was_for_memory
from tb_health_plugin.diagnosis.moments import (
    is_under_way,
    last_end,
    moment,
    stopped_at,
)
from tb_health_plugin.diagnosis.stall_cause import Cause, cause_of, place_of
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, State, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import Frame
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

_WHO_STOPPED_IT = Fix(
    title="Find out who stopped it, before you start it again",
    why="Ctrl-Z, a debugger, a scheduler that suspends jobs and kill -STOP do that. It "
    "would have gone on after kill -CONT.",
)


_STOOD_STILL = "Stood still"
_STOOD = {
    "input_hang": "Waited for data",
    "callback_hang": "Hung in a callback",
    "compute_hang": "Hung inside a step",
    "peer_lost": "Waited for another worker",
    "stopped_process": "Was suspended",
}


def hang(attempt: Attempt, life: Life) -> Ending | None:
    """The stall that the attempt is in, or was in to its end; None without one."""
    end = attempt.last(facts.RunEnded)
    seen = attempt.last(facts.ProcessEnded)
    left = last_end(attempt)
    is_alive = end is None and seen is None and left is None and life.alive
    number = None if is_alive else _ended_by(attempt, end, seen)
    if not is_alive and number is None:
        return None
    state: State = "stuck"
    how = None
    if number is not None:
        state, how = silence.ENDS[number]
    if not attempt.all(facts.TrainingStarted):
        absent = absent_peer.ending(attempt, how, state)
        return absent or _known_stall(attempt, number)
    if not _is_open(attempt):
        return None
    never = endless.ending(attempt, how, state)
    if never is not None:
        return never
    known = _known_stall(attempt, number)
    if known is not None:
        return known
    return silence.hang(attempt, seen) if seen is not None else None


def _known_stall(attempt: Attempt, number: int | None) -> Ending | None:
    """The stall that the watcher told of and that is not over."""
    stall = _open_stall(attempt)
    if stall is None:
        return None
    return _stuck(attempt, stall) if number is None else _ended(attempt, stall, number)


def _ended_by(
    attempt: Attempt, end: facts.RunEnded | None, seen: facts.ProcessEnded | None
) -> int | None:
    """The signal with which somebody lost patience; None if it ended otherwise."""
    left = last_end(attempt)
    raised = left.exception if left and left.reason == "raised" else None
    if raised == "KeyboardInterrupt" or (end and end.reason == "interrupted"):
        return int(signal.SIGINT)
    if seen is None:
        return None
    if raised == "SystemExit" and seen.stacks and seen.signal is None:
        # A handler of SIGTERM that calls sys.exit().
        return int(signal.SIGTERM)
    if end is not None or seen.signal not in silence.ENDS:
        return None
    # A kill for memory has its own cause.
    if was_for_memory(attempt, seen):
        return None
    return seen.signal


def _is_open(attempt: Attempt) -> bool:
    """A training is under way, or was until somebody broke it off."""
    left = last_end(attempt)
    if left is None:
        return is_under_way(attempt)
    return left.reason == "raised" and left.exception in (
        "KeyboardInterrupt",
        "SystemExit",
    )


def _open_stall(attempt: Attempt) -> facts.Stalled | None:
    stall = attempt.last(facts.Stalled)
    over = attempt.last(facts.StallEnded)
    if stall is None:
        return None
    if over is not None and over.wall_time >= stall.wall_time:
        return None
    # Nobody said that it went on, but it did.
    return None if attempt.last_step > stall.step else stall


def _stuck(attempt: Attempt, stall: facts.Stalled) -> Ending:
    seconds = _seconds(attempt, stall)
    last = f"last: step {stall.step:,}" if stall.step else "not even the first"
    headline = f"No step has finished for {durations.words(seconds)} ({last})"
    if _is_before(stall):
        headline = f"No training has begun: stands still for {durations.words(seconds)}"
    verdict = _verdict(attempt, stall, headline)
    verdict = replace(verdict, fixes=tuple(_now(attempt, f) for f in verdict.fixes))
    return Ending("stuck", f"Stuck for {durations.short(seconds)}", verdict)


def _now(attempt: Attempt, fix: Fix) -> Fix:
    """While it still stands there, its native frames can be seen at once."""
    pid = attempt.start.pid if attempt.start else None
    if fix != FIXES["unknown"] or pid is None:
        return fix
    return replace(fix, code=f"{fix.code} && py-spy dump --native --pid {pid}")


def _ended(attempt: Attempt, stall: facts.Stalled, number: int) -> Ending:
    state, how = silence.ENDS[number]
    where = f"at step {stall.step:,}" if stall.step else "before the first step"
    if _is_before(stall):
        where = "before the training began"
    silent = durations.words(_seconds(attempt, stall))
    verdict = _verdict(attempt, stall, "")
    # Only what is likely or proven may be in a headline without a "probably".
    is_sure = verdict.confidence != "possible"
    stood = _STOOD.get(verdict.id, _STOOD_STILL) if is_sure else _STOOD_STILL
    if is_sure and "callback" in verdict.place:
        stood = f"Hung in the callback {verdict.place['callback']}"
    if verdict.detail == "deadlock":
        stood = "Was deadlocked"
    elif _is_before(stall):
        stood = _STOOD_STILL
    headline = f"{stood} for {silent} {where}, then {how}"
    verdict = replace(verdict, headline=headline)
    name = signal.Signals(number).name
    kill = Evidence(
        text=f"It was still standing still when {name} ended it.",
        strong=False,
        at=stopped_at(attempt),
    )
    verdict = replace(verdict, evidence=(*verdict.evidence, kill))
    if verdict.id == "stopped_process":
        # There is nothing left to send SIGCONT to, and the number may be reused.
        verdict = replace(verdict, fixes=(_who_stopped_it(attempt),))
    return Ending(state, verdict.chip, verdict)


def _who_stopped_it(attempt: Attempt) -> Fix:
    if hosting.scheduler(attempt):
        log = hosting.log(attempt, attempt.last_seen_at or 0.0)
        return replace(_WHO_STOPPED_IT, code=log)
    return replace(
        _WHO_STOPPED_IT,
        why=f"{_WHO_STOPPED_IT.why} Started like this, no terminal can stop it.",
        code=f"setsid nohup {own_code.started(attempt)} > train.log 2>&1 < /dev/null &",
    )


def _is_before(stall: facts.Stalled) -> bool:
    return stall.phase == "not_training"


def _verdict(attempt: Attempt, stall: facts.Stalled, headline: str) -> Verdict:
    seen = cause_of(attempt, stall)
    is_guess = seen.confidence == "possible"
    frame = place_of(stall)
    at = moment(attempt, stall.step, stall.since or stall.wall_time)
    place: dict[str, str | int] = {}
    if frame:
        place = {"file": frame.file, "line": frame.line}
    callback = callback_of(attempt, stall.stacks or "")
    if callback is not None and seen.id == "callback_hang":
        place = {"callback": callback, **place}
    return Verdict(
        id=seen.id,
        detail=seen.detail,
        severity="warning" if is_guess and _is_before(stall) else "critical",
        confidence=seen.confidence,
        headline=headline,
        because=seen.because,
        cause_at=at,
        stopped_at=stopped_at(attempt),
        place=place,
        evidence=(*_evidence(stall, frame, at, seen), *seen.evidence),
        fixes=(seen.fix,),
        chip=seen.chip,
    )


def _evidence(
    stall: facts.Stalled, frame: Frame | None, at: Moment, seen: Cause
) -> tuple[Evidence, ...]:
    silence = f"It was noticed after {durations.words(stall.silent_seconds or 0)}"
    if stall.usual_seconds:
        usual = durations.precise(stall.usual_seconds)
        silence += f" in which nothing went on; in this run it usually takes {usual}"
    found = [Evidence(text=f"{silence}.", at=at)]
    if stall.because and not seen.overrules and stall.because not in seen.because:
        found.append(Evidence(text=stall.because, at=at))
    if stall.cpu_fraction is not None:
        text = f"Its processes used {stall.cpu_fraction:.0%} of a core in that time."
        found.append(Evidence(text=text, strong=False, at=at))
    if frame and seen.detail != "deadlock":
        text = f"Python stood at {frame.file}, line {frame.line} in {frame.function}."
        found.append(Evidence(text=text, strong=False, at=at))
    return tuple(found)


def _seconds(attempt: Attempt, stall: facts.Stalled) -> float:
    since = stall.since or stall.wall_time
    return max((attempt.last_seen_at or 0.0) - since, stall.silent_seconds or 0.0)
