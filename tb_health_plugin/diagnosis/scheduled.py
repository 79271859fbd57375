"""Ended by whoever had lent it the machine: schedulers and time limits."""

import math
import re
import signal

from tb_health_plugin.diagnosis import durations, own_code, quantities, resuming
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    State,
)
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, measured

# What Slurm writes to the standard error of a job that it ends.
_SAID = {
    "time_limit": r"slurmstepd: error: .*(?:DUE TO TIME LIMIT|time limit)",
    "preemption": r"slurmstepd: error: .*DUE TO PREEMPTION",
    "cancelled": r"slurmstepd: error: .*CANCELLED AT",
}
_SAID_OF_MEMORY = r"slurmstepd: error: .*(?:oom.kill|out.of.memory|memory limit)"
_WHY = {
    "time_limit": "Its time was up: the scheduler ended it",
    "preemption": "The scheduler took its place for another job",
    "cancelled": "The job was cancelled",
}
# Clocks, and the time from the limit to the end: Slurm sends SIGTERM, waits for
# half a minute, and then sends SIGKILL.
EARLY_SECONDS, LATE_SECONDS = 2.0, 45.0
# So much of the CPU time that is allowed was used. The kernel counts it in ticks, and
# on a machine that is not given all of its time that is less than what was used.
NEAR_CPU_LIMIT = 0.9
# In what was seen children count, too, and they have limits of their own.
FAR_ABOVE_CPU_LIMIT = 1.5
# A process that computes, on however crowded a machine; one that waits uses less.
BUSY_CORES = 0.1
# An estimate of the time that is needed may fall short by so much.
SPARE = 1.2

_MORE_CPU = Fix(
    title="Ask for more CPU time",
    why="The limit is set where it was started; `ulimit -t` shows it.",
    code="ulimit -t unlimited",
)


def ending(
    attempt: Attempt, seen: facts.ProcessEnded, number: int, where: str
) -> Ending | None:
    """The scheduler or limit that ended it with this signal; None if none did."""
    name = signal.Signals(number).name
    for word, pattern in _SAID.items():
        line = _said(seen, pattern)
        if line:
            return _ending(
                attempt,
                number,
                word,
                "proven",
                f"{_WHY[word]} {where}",
                "The scheduler said so itself, and the exit signal agrees.",
                f"The scheduler said: {line}",
                (
                    *((_more_time(attempt),) if word == "time_limit" else ()),
                    resuming.go_on(attempt),
                ),
            )
    late = _seconds_late(attempt, seen)
    if late is not None:
        who = _setting(attempt, "limit.by") or "a limit"
        is_slurm = who == "Slurm"
        return _ending(
            attempt,
            number,
            "time_limit",
            "likely",
            f"Its time was up: {who} ended it {where}",
            f"{name} came at the moment for which {who} had announced the end.",
            f"It ended within {durations.precise(abs(late))} of that moment.",
            (
                _more_time(attempt) if is_slurm else _longer(attempt),
                resuming.go_on(attempt),
            ),
        )
    if number == signal.SIGKILL and (used := _cpu_used_up(attempt, seen)):
        return _ending(
            attempt,
            number,
            "cpu_time",
            "likely",
            f"It had used up the CPU time that it was allowed {where}",
            "The kernel kills at that limit, and nobody counted a kill for memory.",
            used,
            (_MORE_CPU, resuming.go_on(attempt)),
        )
    return None


def _ending(
    attempt: Attempt,
    number: int,
    detail: str,
    confidence: Confidence,
    headline: str,
    because: str,
    evidence: str,
    fixes: tuple[Fix, ...],
) -> Ending:
    at = stopped_at(attempt)
    state: State = "died" if number == signal.SIGKILL else "ended_early"
    name = signal.Signals(number).name
    return ended(
        state,
        at,
        id="killed_outside" if detail == "cpu_time" else "preempted",
        detail=detail,
        severity="warning",
        confidence=confidence,
        headline=headline,
        because=because,
        evidence=(
            Evidence(text=evidence, at=at),
            Evidence(text=f"The process was ended by {name}.", at=at),
        ),
        fixes=fixes,
        chip="Ended from outside",
    )


def _more_time(attempt: Attempt) -> Fix:
    need, why = _time_needed(attempt)
    hours, minutes = divmod(math.ceil(need / 60), 60)
    return Fix(
        title="Ask for more time, or go on from a checkpoint",
        why=f"{why} More may mean a longer wait in the queue.",
        code=f"#SBATCH --time={hours:02d}:{minutes:02d}:00",
    )


def _longer(attempt: Attempt) -> Fix:
    need, why = _time_needed(attempt)
    return Fix(
        title="Give `timeout` more seconds, or go on from a checkpoint",
        why=why,
        code=f"timeout {math.ceil(need / 60) * 60} {own_code.started(attempt)}",
    )


def _time_needed(attempt: Attempt) -> tuple[float, str]:
    """Seconds that all of it would take with some to spare, and why."""
    begun = attempt.last(facts.TrainingStarted)
    end = attempt.last_seen_at or 0.0
    had = max(60.0, end - (attempt.started_at or end))
    done = [
        one
        for one in attempt.all(facts.EpochEnded)
        if begun is not None and one.training == begun.training
    ]
    planned = (begun.planned_epochs or 0) if begun else 0
    left = planned - ((begun.initial_epoch or 0) if begun else 0) - len(done)
    if begun is None or not done or left <= 0:
        return 2 * had, f"It had {quantities.duration(had)}."
    need = had + left * (done[-1].wall_time - begun.wall_time) / len(done)
    return SPARE * need, (
        f"It had {quantities.duration(had)}; with the {left:,} epochs that are left it "
        f"needs about {quantities.duration(need)}."
    )


def said_of_memory(seen: facts.ProcessEnded) -> str | None:
    """The line in which a scheduler says that memory was the reason."""
    return _said(seen, _SAID_OF_MEMORY)


def has_watchdog(attempt: Attempt) -> bool:
    """Systemd ends it if it does not report in time."""
    return _setting(attempt, "env.WATCHDOG_USEC") is not None


def _setting(attempt: Attempt, name: str) -> str | None:
    return attempt.start.settings.get(name) if attempt.start else None


def _said(seen: facts.ProcessEnded, pattern: str) -> str | None:
    """The line of its output that fits."""
    for line in (seen.output_tail or "").splitlines():
        if re.search(pattern, line, re.IGNORECASE):
            return line.strip()[:200]
    return None


def _seconds_late(attempt: Attempt, seen: facts.ProcessEnded) -> float | None:
    """How long after its limit it ended; None if it was another moment."""
    try:
        late = seen.wall_time - float(_setting(attempt, "limit.ends_at") or "")
    except ValueError:
        return None
    return late if -EARLY_SECONDS <= late <= LATE_SECONDS else None


def _cpu_used_up(attempt: Attempt, seen: facts.ProcessEnded) -> str | None:
    """That it had used what it was allowed, as a sentence."""
    try:
        limit = float(_setting(attempt, "limit.cpu_seconds") or "")
    except ValueError:
        return None
    samples = attempt.samples
    values, times = samples.column("tree_cpu_seconds"), samples.column(TIME)
    known = measured(values)
    values, times = values[known], times[known]
    if len(values) < 2 or limit <= 0:
        return None
    # A sample is up to a second old, and many cores use much in a second. The very
    # last one may be of a process that is already gone.
    highest = int(values.argmax())
    before = max(0, highest - 2)
    pace = 0.0
    if times[highest] > times[before]:
        rise = values[highest] - values[before]
        pace = float(rise / (times[highest] - times[before]))
    if pace >= BUSY_CORES:
        # On a crowded machine the next second may bring a whole core again.
        pace = max(1.0, pace)
    used = float(values[highest]) + pace * max(0.0, seen.wall_time - times[highest])
    most = FAR_ABOVE_CPU_LIMIT if _had_children(attempt) else math.inf
    if not NEAR_CPU_LIMIT <= used / limit <= most:
        return None
    return f"It had used about {used:,.0f} of {limit:,.0f} seconds of CPU time."


def _had_children(attempt: Attempt) -> bool:
    """True if nobody counted."""
    counts = attempt.samples.column("tree_processes")
    known = counts[measured(counts)]
    return not len(known) or bool(known[-5:].max() > 1)
