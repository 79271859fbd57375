"""What a signal that ended a training means, as far as the evidence goes."""

import signal
from dataclasses import replace

from tb_health_plugin.diagnosis import aborts, hosting, own_code, resuming, scheduled
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.memory_kills import (
    less_memory,
    machine_was_full,
    was_for_memory,
    was_near_limit,
)
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
)
from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import Frame, parse
from tb_health_plugin.reading.run_history import Attempt

_GIB = 1 << 30
_CRASHES = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "abort",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "arithmetic fault",
    signal.SIGILL: "illegal instruction",
}
# Signals with a meaning of their own: what happened, and what to do about it.
_KNOWN = {
    "SIGHUP": (
        "The terminal or connection that had started it went away",
        Fix(
            title="Start it so that it survives a logout",
            why="SIGHUP is sent to all programs of a terminal that closes.",
        ),
    ),
    "SIGXCPU": (
        "It used up the CPU time that it was allowed",
        Fix(
            title="Ask for more CPU time",
            why="The limit is set where it was started; `ulimit -t` shows it.",
            code="ulimit -t unlimited",
        ),
    ),
    "SIGXFSZ": (
        "A file grew beyond the size that it was allowed",
        Fix(
            title="Ask for larger files",
            why="The limit is set where it was started; `ulimit -f` shows it.",
            code="ulimit -f unlimited",
        ),
    ),
    "SIGALRM": (
        "A timer that the program had set went off",
        Fix(
            title="Look for signal.alarm or setitimer in the program",
            why="Nobody but the program itself sets such a timer.",
            code=own_code.searched(r"signal\.alarm", "setitimer"),
        ),
    ),
}


def by_signal(
    attempt: Attempt, seen: facts.ProcessEnded, number: int, where: str
) -> Ending:
    """What it means that this signal ended the process."""
    at = stopped_at(attempt)
    told = aborts.explained(attempt, seen, number, where)
    if told is not None:
        return told
    if number in _CRASHES:
        return _crash(attempt, seen, number, where, at)
    if number == signal.SIGKILL:
        return _killed(attempt, seen, where, at)
    if number == signal.SIGTERM:
        return _asked_to_stop(attempt, seen, where, at)
    if number == signal.SIGINT:
        return interrupted(where, at, "The process was ended by SIGINT.")
    return _other(attempt, number, where, at)


def _killed(
    attempt: Attempt, seen: facts.ProcessEnded, where: str, at: Moment
) -> Ending:
    signalled = Evidence(text="The process was ended by SIGKILL.", at=at)
    memory = _memory_evidence(seen, at)
    if seen.cgroup_oom_kills:
        counted = _counted("its control group", seen.cgroup_oom_kills)
        return _out_of_memory(
            attempt,
            seen,
            (Evidence(text=counted, lane="host_memory", at=at), signalled, *memory),
            "The kernel's own counter and the exit signal agree.",
            _which_limit(attempt, seen),
            "proven",
            where,
            at,
        )
    if was_for_memory(attempt, seen):
        counted = _counted("the whole machine", seen.machine_oom_kills or 0)
        return _out_of_memory(
            attempt,
            seen,
            (Evidence(text=counted, lane="host_memory", at=at), signalled, *memory),
            "The machine killed for memory in the same seconds.",
            "machine",
            "likely" if was_near_limit(seen) else "possible",
            where,
            at,
        )
    said = scheduled.said_of_memory(seen)
    if said:
        return _out_of_memory(
            attempt,
            seen,
            (Evidence(text=f"The scheduler said: {said}", at=at), signalled, *memory),
            "The scheduler says so, and the exit signal agrees.",
            "cgroup",
            "likely",
            where,
            at,
        )
    planned = scheduled.ending(attempt, seen, int(signal.SIGKILL), where)
    if planned is not None:
        return planned
    nobody_counts = seen.cgroup_oom_kills is None and seen.machine_oom_kills is None
    if nobody_counts:
        because = "Nobody counts kills for memory here, so memory cannot be ruled out."
    elif seen.machine_oom_kills:
        because = (
            "A kill for memory was counted on the machine in those seconds, but the "
            "machine had room, so it was in another container."
        )
    else:
        because = (
            "The kernel counted no kill for memory, so that was hardly the reason."
        )
    return ended(
        "died",
        at,
        id="killed_outside",
        detail="SIGKILL",
        confidence="possible" if nobody_counts else "likely",
        headline=f"Killed from outside (SIGKILL) {where}",
        because=because,
        evidence=(signalled, *memory),
        fixes=(
            Fix(
                title="Ask who sends SIGKILL here",
                why="A scheduler's time limit, a container that was removed or a "
                "person does that; the log of that moment names it.",
                code=hosting.log(attempt, seen.wall_time),
            ),
            resuming.go_on(attempt),
        ),
        chip="Killed",
    )


def _out_of_memory(
    attempt: Attempt,
    seen: facts.ProcessEnded,
    evidence: tuple[Evidence, ...],
    because: str,
    detail: str,
    confidence: Confidence,
    where: str,
    at: Moment,
) -> Ending:
    killed = "Probably killed" if confidence == "possible" else "Killed"
    return ended(
        "died",
        at,
        id="host_oom",
        detail=detail,
        confidence=confidence,
        headline=f"{killed} by the OS for lack of memory {where}",
        because=because,
        evidence=evidence,
        fixes=(less_memory(attempt, in_container=detail == "cgroup"),),
        chip="Out of memory",
    )


def _crash(
    attempt: Attempt, seen: facts.ProcessEnded, number: int, where: str, at: Moment
) -> Ending:
    name = _CRASHES[signal.Signals(number)]
    word = signal.Signals(number).name
    evidence = [Evidence(text=f"The process was ended by {word}.", at=at)]
    if number == signal.SIGABRT and scheduled.has_watchdog(attempt):
        text = "It is a service of systemd, whose watchdog ends in this way what does "
        text += "not report in time."
        evidence.append(Evidence(text=text, strong=False, at=at))
    frame = _crash_frame(seen.stacks or "")
    place: dict[str, str | int] = {}
    if frame is not None:
        text = f"Python was in {frame.file}, line {frame.line}, when it crashed."
        evidence.append(Evidence(text=text, strong=False, at=at))
        place = {"file": frame.file, "line": frame.line}
    return ended(
        "died",
        at,
        id="native_crash",
        detail=word,
        headline=f"Crashed in native code ({name}) {where}",
        because="The exit signal says so. The line in Python is where it was called.",
        place=place,
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title=f"Begin at {_line(frame)}" if frame else "Look at the stack",
                why="The stack below shows which call of Python led into the crash.",
                code=own_code.shown(frame.file, frame.line) if frame else None,
            ),
            *_native(attempt, number),
        ),
        chip="Segfault" if number == signal.SIGSEGV else "Native crash",
    )


def _native(attempt: Attempt, number: int) -> tuple[Fix, ...]:
    """What shows more of a crash than Python can."""
    if number == signal.SIGILL:
        return (
            Fix(
                title="Compare the processor with the one that was built for",
                why="It met an instruction that it does not have: a package was made "
                "for a newer one.",
                code="lscpu | grep -E 'Model name|Flags'",
            ),
        )
    if number == signal.SIGBUS:
        return (
            Fix(
                title="See whether shared memory or a disk is full",
                why="A mapped file that cannot grow, or was cut, ends like this.",
                code="df -h /dev/shm /tmp .",
            ),
        )
    if own_code.is_notebook(attempt):
        return ()
    return (
        Fix(
            title="Or have the native stack shown",
            why="It names the library that crashed. The run is a little slower.",
            code=f"gdb -batch -ex run -ex bt --args {own_code.started(attempt)}",
        ),
    )


def _asked_to_stop(
    attempt: Attempt, seen: facts.ProcessEnded, where: str, at: Moment
) -> Ending:
    planned = scheduled.ending(attempt, seen, int(signal.SIGTERM), where)
    if planned is not None:
        return planned
    scheduler = hosting.scheduler(attempt)
    evidence = [Evidence(text="The process was ended by SIGTERM.", at=at)]
    probably = ""
    if scheduler:
        text = f"It ran under {scheduler}, which sends SIGTERM before it takes back."
        evidence.append(Evidence(text=text, strong=False, at=at))
        probably = f", possibly by {scheduler}"
    return ended(
        "ended_early",
        at,
        id="preempted",
        detail="SIGTERM",
        severity="warning",
        headline=f"Asked to stop (SIGTERM) {where}{probably}",
        because="The exit signal says so. Schedulers, and people with kill, send it.",
        evidence=tuple(evidence),
        fixes=(resuming.go_on(attempt),),
        chip="Ended from outside",
    )


def interrupted(where: str, at: Moment, seen: str) -> Ending:
    """Somebody wanted it to stop.

    Args:
        where: Where in the run, as the rest of a sentence.
        at: When it was.
        seen: How we know, as a sentence.
    """
    return ended(
        "ended_early",
        at,
        id="user_interrupt",
        severity="info",
        headline=f"Stopped by Ctrl-C {where}",
        because="Ctrl-C, and the interrupt button of a notebook, end a program so.",
        evidence=(Evidence(text=seen, at=at),),
        chip="Stopped by hand",
    )


def _other(attempt: Attempt, number: int, where: str, at: Moment) -> Ending:
    name = name_of(number)
    meaning, fix = _KNOWN.get(name, (None, None))
    if fix and name == "SIGHUP":
        fix = replace(fix, code=f"nohup {own_code.started(attempt)} &")
    evidence = [Evidence(text=f"The process was ended by {name}.", at=at)]
    because = "The exit signal says so; who sent it is not known."
    if meaning:
        because = f"The exit signal says so. {meaning}."
    return ended(
        "ended_early",
        at,
        id="killed_outside",
        detail=name,
        severity="warning",
        headline=f"Ended from outside ({name}) {where}",
        because=because,
        evidence=tuple(evidence),
        fixes=(fix,) if fix else (),
        chip="Ended from outside",
    )


def _memory_evidence(seen: facts.ProcessEnded, at: Moment) -> tuple[Evidence, ...]:
    peak, limit = seen.peak_memory_bytes, seen.memory_limit_bytes
    if not peak or not limit:
        return ()
    text = (
        f"The training held up to {peak / _GIB:.1f} of {limit / _GIB:.1f} GiB in its "
        "last minute."
    )
    return (Evidence(text=text, strong=False, lane="host_memory", at=at),)


def _which_limit(attempt: Attempt, seen: facts.ProcessEnded) -> str:
    """Whose memory ran out: the container's, if its limit was near.

    What grows fast reaches a limit between two samples. Then it was the container's
    all the same if the machine had room.
    """
    limited = attempt.samples.has("cgroup_memory_limit_bytes")
    near = was_near_limit(seen) or not machine_was_full(attempt)
    return "cgroup" if limited and near else "machine"


def _counted(where: str, kills: int) -> str:
    times = "one kill" if kills == 1 else f"{kills:,} kills"
    return f"The kernel counted {times} for lack of memory in {where} at that moment."


def _line(frame: Frame) -> str:
    return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}"


def _crash_frame(stacks: str) -> Frame | None:
    """The user's innermost line of the thread that crashed; else its innermost."""
    for thread in parse(stacks):
        if thread.is_current and thread.frames:
            own = [frame for frame in thread.frames if not frame.is_library]
            return (own or list(thread.frames))[0]
    return None


def name_of(number: int) -> str:
    """The name of a signal, as people know it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
