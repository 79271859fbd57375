"""What a stall turns out to be, once all that was recorded around it is looked at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tb_health_plugin.diagnosis import data_alone, hosting, own_code, time_limits
from tb_health_plugin.diagnosis.callback_names import HOOK
from tb_health_plugin.diagnosis.endings import name_of
from tb_health_plugin.diagnosis.hang_words import CHIPS, FIXES
from tb_health_plugin.diagnosis.moments import moment
from tb_health_plugin.diagnosis.peers import goes_in_step
from tb_health_plugin.diagnosis.silence import IDLE
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Moment
from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import (
    Frame,
    Thread,
    innermost_own_frame,
    parse,
    training_thread,
)
from tb_health_plugin.reading.run_history import Attempt

_IDS = {
    "data": "input_hang",
    "callback": "callback_hang",
    "stopped": "stopped_process",
    "peer": "peer_lost",
}
_OTHER = "compute_hang"


@dataclass(frozen=True, slots=True)
class Cause:
    """What a stall turns out to be.

    Attributes:
        id: Of the verdict.
        chip: Of the verdict.
        detail: Of the verdict.
        confidence: Of the verdict.
        because: Of the verdict.
        fix: What to do first.
        evidence: More than the stall itself tells.
        overrules: What the watcher took it for, on the spot, is not so.
    """

    id: str
    chip: str
    detail: str
    confidence: Confidence
    because: str
    fix: Fix
    evidence: tuple[Evidence, ...] = ()
    overrules: bool = False


def cause_of(attempt: Attempt, stall: facts.Stalled) -> Cause:
    """The cause, never more certain than what was seen."""
    waits_for = stall.waits_for or "unknown"
    at = moment(attempt, stall.step, stall.since or stall.wall_time)
    because = stall.because or "What it waits for was not seen."
    confidence = _confidence(waits_for)
    if waits_for in ("callback", "lock", "data"):
        two = _deadlock(stall)
        if two is not None:
            return Cause(
                "input_hang",
                "Deadlock",
                "deadlock",
                "likely",
                "The thread that trains and one that makes its batches both stand at a "
                "line of the program: each seems to wait for the other.",
                FIXES["lock"],
                tuple(
                    Evidence(text=f"{who} stood at {one.file}, line {one.line}.", at=at)
                    for who, one in zip(_THREADS, two, strict=True)
                ),
            )
    inside = _inside_the_step(attempt, stall)
    if inside is not None:
        return Cause(
            _OTHER,
            CHIPS[_OTHER],
            "python_in_step",
            "likely",
            f"The step waits for {inside.function}() at {inside.file}, line "
            f"{inside.line}: Python that the model or its loss calls. The batches come "
            "from arrays, so no code of the program makes them.",
            _in_python(stall, inside),
            overrules=True,
        )
    dead = _dead_child(attempt, stall)
    if dead is not None and waits_for in ("data", "lock", "unknown"):
        return Cause(
            "input_hang",
            CHIPS["input_hang"],
            "dead_worker",
            "likely",
            f"{because} A process that it had started is dead.",
            replace(_DEAD_WORKER, code=_log_of(dead)),
            (Evidence(text=_child(dead), at=Moment(wall_time=dead.wall_time)),),
        )
    is_idle = (stall.cpu_fraction or 0.0) < _WORKS
    if waits_for in ("unknown", "lock") and is_idle and goes_in_step(attempt):
        return Cause(
            "peer_lost",
            CHIPS["peer_lost"],
            "silent",
            "possible",
            f"{because} It is one of several workers that go in step.",
            replace(FIXES["peer"], code=hosting.others(attempt)),
        )
    verdict_id = _IDS.get(waits_for, _OTHER)
    if waits_for == "lock" and _in_callback(stall):
        verdict_id = _IDS["callback"]
    fix = _fix(attempt, stall, waits_for)
    maker = _maker(stall) if waits_for == "data" else None
    seen: tuple[Evidence, ...] = ()
    if maker is not None:
        text = f"{_THREADS[1]} stood at {maker.file}, line {maker.line}."
        seen = (Evidence(text=text, at=at),)
    return Cause(
        verdict_id, CHIPS[verdict_id], waits_for, confidence, because, fix, seen
    )


# Waiting for others takes some polling; more than this of a core is work of its own.
_WORKS = 0.3
# What a worker had made before it died lasts for so long at most.
_BEFORE_SECONDS = 60.0
_THREADS = ("The thread that trains", "A thread that makes batches")
_DEAD_WORKER = Fix(
    title="Find out why the worker died",
    why="Nobody else makes its batches, and the training waits for them for ever. A "
    "worker that is killed leaves no word: look for memory first.",
)
_PRODUCER = re.compile(r"from_generator|/script_ops\.py|/data_adapters?/|/py_dataset")
_WAITS = re.compile(r"/threading\.py$|/multiprocessing/synchronize\.py$|/queue\.py$")


def _deadlock(stall: facts.Stalled) -> tuple[Frame, Frame] | None:
    """Two threads that both stand at a line of the program, without any work."""
    if (stall.cpu_fraction or 0.0) > IDLE:
        return None
    threads = parse(stall.stacks or "")
    trains = training_thread(threads)
    own = _waiting_at(trains)
    if own is None or trains is None:
        return None
    if not any(HOOK.match(frame.function) for frame in trains.frames):
        return None
    for other in threads:
        makes = any(_PRODUCER.search(frame.file) for frame in other.frames)
        stands = _waiting_at(other)
        if other is not trains and makes and stands is not None:
            return own, stands
    return None


def _waiting_at(thread: Thread | None) -> Frame | None:
    """The program's own line, if nothing but a lock is below it."""
    for frame in thread.frames if thread else ():
        if not frame.is_library:
            return frame
        if not _WAITS.search(frame.file):
            return None
    return None


def _in_callback(stall: facts.Stalled) -> bool:
    thread = training_thread(parse(stall.stacks or ""))
    return thread is not None and any(HOOK.match(f.function) for f in thread.frames)


def _maker(stall: facts.Stalled) -> Frame | None:
    """The program's own line in a thread that makes batches."""
    return innermost_own_frame(_making(parse(stall.stacks or "")))


def _making(threads: Sequence[Thread]) -> Thread | None:
    """A thread that makes batches by code of the program."""
    trains = training_thread(threads)
    for other in threads:
        makes = any(_PRODUCER.search(frame.file) for frame in other.frames)
        if other is not trains and makes and innermost_own_frame(other) is not None:
            return other
    return None


def _inside_the_step(attempt: Attempt, stall: facts.Stalled) -> Frame | None:
    """The line of a Python function that the graph of the step itself called.

    TensorFlow calls such functions of a model and of a data pipeline alike. Only data
    that lies in arrays is known to need none.
    """
    begun = attempt.last(facts.TrainingStarted)
    if begun is None or begun.settings.get("data.kind") != "arrays":
        return None
    if stall.waits_for not in ("data", "unknown", "busy") or stall.phase != "training":
        return None
    threads = parse(stall.stacks or "")
    trains = training_thread(threads)
    for other in threads:
        called = any(frame.file.endswith("/script_ops.py") for frame in other.frames)
        if other is not trains and called:
            own = innermost_own_frame(other)
            if own is not None:
                return own
    return None


def _dead_child(attempt: Attempt, stall: facts.Stalled) -> facts.ChildEnded | None:
    """A process of the training that died as the stall began."""
    dead = attempt.last(facts.ChildEnded)
    since = stall.since or stall.wall_time
    if dead is None or dead.wall_time < since - _BEFORE_SECONDS:
        return None
    return dead


def _child(dead: facts.ChildEnded) -> str:
    name = f" ({dead.name})" if dead.name else ""
    by = f" of {name_of(dead.signal)}" if dead.signal else ""
    return f"Its process {dead.pid}{name} died{by} and was not replaced."


def _confidence(waits_for: str) -> Confidence:
    if waits_for == "stopped":
        # The kernel says so itself.
        return "proven"
    return "possible" if waits_for == "unknown" else "likely"


def _fix(attempt: Attempt, stall: facts.Stalled, waits_for: str) -> Fix:
    pid = attempt.start.pid if attempt.start else None
    if waits_for == "stopped":
        return Fix(
            title="Let it go on",
            why="It does not hang: the kernel was told not to run it.",
            code=f"kill -CONT {pid}" if pid else None,
        )
    known = {**FIXES, "compile": FIXES["busy"]}
    fix = known.get(waits_for, FIXES["unknown"])
    if fix.code:
        return fix
    if waits_for == "peer":
        return replace(fix, code=hosting.others(attempt))
    threads = parse(stall.stacks or "")
    trains = training_thread(threads)
    if waits_for == "data":
        limit = time_limits.limit_of(_making(threads))
        begun = attempt.last(facts.TrainingStarted)
        return replace(fix, code=limit) if limit else data_alone.looped(fix, begun)
    if waits_for == "callback":
        return replace(fix, code=time_limits.limit_or_code(trains))
    frame = innermost_own_frame(trains)
    shown = own_code.shown(frame.file, frame.line) if frame else None
    return replace(fix, code=shown)


def _in_python(stall: facts.Stalled, inside: Frame) -> Fix:
    """About Python code that the step itself calls, and that does not return."""
    if (stall.cpu_fraction or 0.0) >= _WORKS:
        return replace(FIXES["busy"], code=own_code.shown(inside.file, inside.line))
    thread = next((t for t in parse(stall.stacks or "") if inside in t.frames), None)
    return replace(FIXES["call"], code=time_limits.limit_or_code(thread))


def _log_of(dead: facts.ChildEnded) -> str:
    when = dead.wall_time
    return f"journalctl -k --since @{when - 60:.0f} --until @{when + 5:.0f}"


def place_of(stall: facts.Stalled) -> Frame | None:
    """The user's line that is named: where it waits, or where its data is made."""
    threads = parse(stall.stacks or "")
    maker = _maker(stall) if stall.waits_for == "data" else None
    if maker is not None:
        return maker
    frames = [innermost_own_frame(thread) for thread in threads]
    for frame in frames:
        if frame and f"{frame.file}, line {frame.line}" in (stall.because or ""):
            return frame
    return innermost_own_frame(training_thread(threads))
