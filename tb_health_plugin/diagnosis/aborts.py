"""Native code that gave up and said why: an abort is then the end, not the cause."""

import re
import signal

from tb_health_plugin.diagnosis import cuda_parts, gpu_faults, hosting
from tb_health_plugin.diagnosis.cuda_words import fatal_words, fault, missing_part
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.gpu_words import refusal
from tb_health_plugin.diagnosis.memory_kills import less_memory
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.smaller_batches import halved
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import measured

# How libraries end a process that cannot go on.
_GIVE_UP = (int(signal.SIGABRT), int(signal.SIGSEGV), int(signal.SIGILL))
_NO_MEMORY = r"std::bad_alloc|Cannot allocate memory|out of memory|failed to allocate"
_NO_THREAD = (
    r"pthread_create\(?\)? failed|Resource temporarily unavailable"
    r"|Thread .{0,60}creation .{0,40}failed"
)
_NO_FILE = r"Too many open files"
_OF_A_GPU = r"CUDA_ERROR_|Allocator \(GPU_|gpu_async_"
# What is said earlier need not be why it gave up.
_LAST_LINES = 20
# So near to a limit, one more of them is refused.
_AT_LIMIT = 0.98


def explained(
    attempt: Attempt, seen: facts.ProcessEnded, number: int, where: str
) -> Ending | None:
    """The cause behind an abort; None if nothing tells of one."""
    if number not in _GIVE_UP:
        return None
    said = seen.output_tail or ""
    gpu = _gpu(attempt, said, where) if number == signal.SIGABRT else None
    if gpu is not None:
        return gpu
    # What a GPU refused earlier is not the machine's memory.
    lines = [line for line in said.splitlines() if not re.search(_OF_A_GPU, line)]
    said = "\n".join(lines)
    if number == signal.SIGABRT and re.search(_NO_MEMORY, said):
        return _no_memory(attempt, said, where)
    for pattern, detail, words, used, limit in (
        (_NO_THREAD, "threads", "threads", "cgroup_pids_used", "cgroup_pids_limit"),
        (_NO_FILE, "files", "open files", "process_fds", "process_fd_limit"),
    ):
        line = _line(pattern, said) if number == signal.SIGABRT else None
        counted = _counted(attempt, used, limit)
        if line or counted or (detail == "threads" and _denied(attempt)):
            return _no_handle(attempt, detail, words, where, line, counted, limit)
    return None


def _gpu(attempt: Attempt, said: str, where: str) -> Ending | None:
    """TensorFlow gives up where a GPU failed in the middle of a step."""
    at = stopped_at(attempt)
    last = "\n".join(said.splitlines()[-_LAST_LINES:])
    evidence = [Evidence(text="The process was ended by SIGABRT.", at=at)]
    told = fault(last)
    if told is not None and gpu_faults.meaning(told.kind) is not None:
        line = _line(r"CUDA_ERROR|GPU|Xid|ECC|illegal|launch", last) or ""
        evidence.insert(0, Evidence(text=f"Its last words: {line}", at=at))
        because = "TensorFlow says so in its last words, and then aborts."
        found = gpu_faults.verdict(
            attempt, told, at=at, place={}, evidence=evidence, because=because
        )
        return Ending("died", found.chip, found)
    # Elsewhere it warns of a missing part and goes on without.
    fatal = fatal_words(last)
    part = missing_part(fatal)
    if part is not None:
        text = f"Its last words: {fatal.strip()[:300]}"
        evidence.insert(0, Evidence(text=text, at=at))
        return cuda_parts.ending(
            attempt, part, "died", at, where=where, evidence=evidence
        )
    if not refusal(last, said).on_gpu:
        return None
    line = _line(r"CUDA_ERROR_OUT_OF_MEMORY|ALLOC_FAILED|ran out of memory", said) or ""
    evidence.insert(0, Evidence(text=f"Its last words: {line}", at=at))
    return ended(
        "died",
        at,
        id="gpu_oom",
        detail="exhausted",
        confidence="likely",
        headline=f"The GPU ran out of memory {where}",
        because="TensorFlow says so in its last words, and then aborts.",
        evidence=tuple(evidence),
        fixes=(halved(attempt),),
        chip="GPU out of memory",
    )


def _no_memory(attempt: Attempt, said: str, where: str) -> Ending:
    at = stopped_at(attempt)
    line = _line(_NO_MEMORY, said) or ""
    return ended(
        "died",
        at,
        id="alloc_failure",
        confidence="likely",
        headline=f"Memory was asked for and refused {where}",
        because="Native code says so in its last words, and then aborts.",
        evidence=(
            Evidence(text=f"Its last words: {line}", at=at),
            Evidence(text="The process was ended by SIGABRT.", at=at),
        ),
        fixes=(less_memory(attempt),),
        chip="Out of memory",
    )


def _no_handle(
    attempt: Attempt,
    detail: str,
    words: str,
    where: str,
    line: str | None,
    counted: str | None,
    limit: str,
) -> Ending:
    at = stopped_at(attempt)
    limits = attempt.samples.column(limit)
    known = limits[measured(limits)]
    allowed = float(known[-1]) if len(known) else None
    evidence = []
    if line:
        evidence.append(Evidence(text=f"Its last words: {line}", at=at))
    if counted:
        evidence.append(Evidence(text=counted, at=at))
    if detail == "threads" and _denied(attempt):
        text = f"The kernel refused {_denied(attempt):,} of them at the limit."
        evidence.append(Evidence(text=text, at=at))
    # A thread's stack takes memory, too: the words alone do not say which was short.
    sure: Confidence = "possible"
    if len(evidence) > 1:
        sure = "proven" if line else "likely"
    elif not line:
        sure = "likely"
    return ended(
        "died",
        at,
        id="handle_limit",
        detail=detail,
        confidence=sure,
        headline=f"The limit on {words} was reached {where}, and native code gave up",
        because="Native code aborts where it cannot have one more.",
        evidence=(*evidence, Evidence(text="A signal ended it.", strong=False, at=at)),
        fixes=(
            Fix(
                title=f"Need fewer {words}, or allow more",
                why="A number that rises with the steps is something that is never "
                "given back; a higher limit only delays its end.",
                code=hosting.handles(attempt, detail, allowed),
            ),
        ),
        chip=f"Too many {detail}",
    )


def _line(pattern: str, said: str) -> str | None:
    """The last line that fits."""
    lines = [line.strip() for line in said.splitlines() if re.search(pattern, line)]
    return lines[-1][:300] if lines else None


def _counted(attempt: Attempt, used: str, limit: str) -> str | None:
    """That a number stood at its limit at the end, as a sentence."""
    uses, limits = attempt.samples.column(used), attempt.samples.column(limit)
    known, allowed = uses[measured(uses)], limits[measured(limits)]
    if not len(known) or not len(allowed) or not allowed[-1] > 0:
        return None
    if float(known[-1]) < _AT_LIMIT * float(allowed[-1]):
        return None
    return f"It had {known[-1]:,.0f} of {allowed[-1]:,.0f} at the last sample."


def _denied(attempt: Attempt) -> int:
    """How many processes or threads were refused while it ran."""
    values = attempt.samples.column("cgroup_pids_denied")
    known = values[measured(values)]
    return int(known[-1] - known[0]) if len(known) else 0
