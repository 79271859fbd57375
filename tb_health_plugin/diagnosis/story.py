"""Tells how an attempt stands or ended.

What Python itself saw comes first, then what the watcher saw from outside. An end that
nobody saw stays unknown.
"""

from tb_health_plugin.diagnosis import (
    endings,
    exceptions,
    lost_machine,
    returned,
    stuck,
)
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.moments import (
    has_raised,
    has_returned,
    last_end,
    stopped_at,
    where,
)
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, State, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# A headline has room for about a hundred characters.
_LONGEST_REASON = 80


def tell(attempt: Attempt, life: Life) -> Story:
    """The story of one attempt."""
    end = attempt.last(facts.RunEnded)
    seen = attempt.last(facts.ProcessEnded)
    failed = _failure(attempt, end)
    if failed is not None and failed.state == "failed" and not has_returned(attempt):
        return _of(failed)
    hang = stuck.hang(attempt, life)
    if hang is not None:
        return _of(hang)
    if failed is not None and has_raised(attempt):
        return returned.with_trouble(attempt, _of(failed), _afterwards(attempt, end))
    if end is not None and end.reason == "interrupted" and not has_returned(attempt):
        return _by_hand(attempt)
    if end is None and seen is None and life.alive:
        return _alive(attempt)
    if end is None and seen is None and life.end_due:
        return _ending(attempt)
    if attempt.start is None:
        return _from_summaries(attempt, end)
    if has_returned(attempt):
        return returned.tell(attempt, _of(failed) if failed else None)
    if seen is not None and seen.signal is not None:
        return _by_signal(attempt, seen, seen.signal)
    if seen is not None and seen.exit_code is not None and end is None:
        return _by_native_exit(attempt, seen.exit_code)
    if end is None:
        return _vanished(attempt, life, seen)
    if not attempt.all(facts.TrainingStarted):
        return _without_training(seen)
    return _left(attempt, seen)


def _failure(attempt: Attempt, end: facts.RunEnded | None) -> Ending | None:
    """The exception that left the newest training, else the one that ended all."""
    left = last_end(attempt)
    if left is not None and left.reason == "raised":
        return exceptions.explain(Raised.by(attempt, left))
    if end is not None and end.reason == "exception":
        return exceptions.explain(Raised.by(attempt, end))
    return None


def _afterwards(attempt: Attempt, end: facts.RunEnded | None) -> Story | None:
    """Another exception, after the program had caught the one of the training."""
    left = last_end(attempt)
    if end is None or left is None or end.reason != "exception":
        return None
    if end.exception == left.exception:
        return None
    return _of(exceptions.explain(Raised.by(attempt, end)))


def _alive(attempt: Attempt) -> Story:
    if has_returned(attempt):
        return returned.tell(attempt, None)
    step = attempt.last_step
    if not attempt.all(facts.TrainingStarted):
        for one in reversed(attempt.all(facts.Incident)):
            # In a notebook the process goes on, and waits for somebody to type.
            if one.kind == "cell_failed" and one.message:
                return Story(
                    state="running",
                    chip="No training yet",
                    severity="info",
                    headline=f"No training yet. {_first_line(one.message)}",
                )
    words = f"Running, at step {step:,}" if step else "Running, before the first step"
    return Story(state="running", chip="Running", severity="info", headline=words)


def _ending(attempt: Attempt) -> Story:
    """It has ended, and its watcher needs a moment to write how."""
    words = f"It has just ended {where(attempt)}. How is being written: look again"
    return Story(state="running", chip="Ending", severity="info", headline=words)


def _by_hand(attempt: Attempt) -> Story:
    ending = endings.interrupted(
        where(attempt), stopped_at(attempt), "KeyboardInterrupt ended the program."
    )
    return _of(ending)


def _by_signal(attempt: Attempt, seen: facts.ProcessEnded, number: int) -> Story:
    ending = endings.by_signal(attempt, seen, number, where(attempt))
    return _of(ending)


def _by_native_exit(attempt: Attempt, code: int) -> Story:
    at = stopped_at(attempt)
    verdict = Verdict(
        id="explicit_exit",
        detail=f"status {code}",
        severity="warning",
        confidence="likely",
        headline=f"The program ended itself with status {code} {where(attempt)}",
        because=(
            "It exited, but the exit handlers of Python did not run: os._exit() does "
            "that, and so does exit() in a library."
        ),
        cause_at=at,
        stopped_at=at,
        evidence=(
            Evidence(text=f"The process exited with status {code}.", at=at),
            Evidence(text="No exit handler of Python ran.", at=at),
        ),
        fixes=(
            Fix(
                title="Look for os._exit in the program and in what it calls",
                why=f"Whoever called it chose the status {code}. Nothing is saved, "
                "closed or flushed then; sys.exit() does that.",
                code="grep -rn 'os._exit' --include='*.py' .",
            ),
        ),
    )
    return _story("ended_early", "Ended itself", verdict)


def _left(attempt: Attempt, seen: facts.ProcessEnded | None) -> Story:
    at = stopped_at(attempt)
    status = seen.exit_code if seen else None
    evidence = [
        Evidence(text="The exit handlers of Python ran.", at=at),
        Evidence(text="fit() had not returned.", at=at),
    ]
    if status is not None:
        text = f"The process exited with status {status}."
        evidence.insert(0, Evidence(text=text, at=at))
    verdict = Verdict(
        id="explicit_exit",
        detail=None if status is None else f"status {status}",
        severity="warning",
        confidence="possible",
        headline=(
            f"The program ended itself{_with(status)} {where(attempt)}, within fit()"
        ),
        because=(
            "Python shut down in an orderly way while the training was under way: "
            "sys.exit() does that, and so does an exception that was caught."
        ),
        cause_at=at,
        stopped_at=at,
        evidence=tuple(evidence),
    )
    return _story("ended_early", "Ended itself", verdict)


def _with(status: int | None) -> str:
    return "" if status is None else f" with status {status}"


def _vanished(attempt: Attempt, life: Life, seen: facts.ProcessEnded | None) -> Story:
    lost = lost_machine.verdict(attempt, life) if seen is None else None
    if lost is not None:
        return _story("died", "Machine lost", lost)
    if seen is None and life.watcher_gone:
        return _of(lost_machine.killed_together(attempt, life))
    at = stopped_at(attempt)
    watched = "The watcher saw it go, but not how." if seen else life.because
    verdict = Verdict(
        id="unknown",
        severity="critical",
        confidence="possible",
        headline=f"Stopped {where(attempt)}; we cannot tell why",
        because=(
            "It left no word: no exception was reported and no exit handler ran. A "
            "kill, a crash in native code and os._exit() all look like this."
        ),
        cause_at=at,
        stopped_at=at,
        evidence=(
            Evidence(text=watched, at=at),
            Evidence(text="The record has no end.", at=at),
        ),
    )
    return _story("died", "Cause unknown", verdict)


def _without_training(seen: facts.ProcessEnded | None) -> Story:
    status = seen.exit_code if seen else None
    if status:
        return Story(
            state="ended_early",
            chip="Ended itself",
            severity="warning",
            headline=f"The program ended{_with(status)} before a training began",
        )
    # One that was only asked for its --help ended as it should.
    return Story(
        state="unknown" if status is None else "finished",
        chip="No training",
        severity="info",
        headline="The program ended without a training",
    )


def _from_summaries(attempt: Attempt, end: facts.RunEnded | None) -> Story:
    """Nothing but what the user's own summary writer was told."""
    at = f"step {attempt.last_step:,}"
    if end is None:
        return Story(
            state="unknown",
            chip="No end recorded",
            severity="info",
            headline=f"Last heard of at {at}; its end was not recorded",
        )
    if end.reason == "finished":
        return Story(
            state="finished",
            chip="Finished",
            severity="info",
            headline=f"Finished at {at}",
        )
    reason = _first_line(end.message or end.reason or "no reason given")
    return Story(
        state="ended_early",
        chip="Ended early",
        severity="info",
        headline=f"Ended at {at}: {reason}",
    )


def _of(ending: Ending) -> Story:
    return _story(ending.state, ending.chip, ending.verdict)


def _story(state: State, chip: str, verdict: Verdict) -> Story:
    return Story(
        state=state,
        chip=chip,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
    )


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:_LONGEST_REASON]
