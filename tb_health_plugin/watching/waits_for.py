"""What a training that stands still seems to wait for, and how we know."""

import re
from dataclasses import dataclass

from tb_health_plugin.events.python_stacks import (
    Frame,
    Thread,
    innermost_own_frame,
    parse,
    training_thread,
)
from tb_health_plugin.watching.stall import ENDLESS_SECONDS, IDLE_CPU_FRACTION, Stall
from tb_health_plugin.writing.phases import MAY_COMPILE, Phase

# At least this share of a core: it does not wait, it computes.
BUSY_CPU_FRACTION = 0.8
# Native code that computes may compile for another shape; that takes a minute
# without a line of Python that says so.
BUSY_SECONDS = 60.0

_COMPILING = (
    r"/tracing_compilation\.py:(trace_function|_maybe_define|_create_concrete)"
    r"|/func_graph\.py|/autograph/|jax/_src/(compiler|interpreters)"
    r"|torch/_(dynamo|inductor)"
)
# Frames as `<file>:<function>`, the strongest hint first. Whatever a callback waits
# for, it is the callback that does not return.
_HINTS = (
    (
        "callback",
        r"/callbacks?/|:on_(train|test|predict|epoch|batch)_(\w+_)?(begin|end)$",
        "it is inside a callback",
    ),
    (
        "data",
        r"tensorflow/python/data/|/data_adapters?/|/epoch_iterator\.py|/queue\.py:get$"
        r"|multiprocessing/(pool|queues|connection|managers)\.py|torch/utils/data/"
        r"|/grain/|from_generator|/script_ops\.py|:__next__$|:__getitem__$",
        "it is asking for the next batch",
    ),
    (
        "peer",
        r"/grpc/|collective|cross_device|horovod|mpi4py|torch/distributed/"
        r"|coordination|:barrier|cluster_resolver",
        "it is talking to another worker",
    ),
    (
        "compile",
        _COMPILING,
        "it is tracing or compiling",
    ),
    (
        "lock",
        r"/threading\.py:(wait|acquire|join|_wait_for_tstate_lock|__enter__)$"
        r"|multiprocessing/synchronize\.py|concurrent/futures/|/filelock/"
        r"|/subprocess\.py:(wait|_wait|communicate)$",
        "it waits for another thread or process",
    ),
)
# A lock in C leaves no frame of its own, but the line that called it says so.
_CODE_HINTS = (
    (
        "lock",
        r"\.acquire\(|\.wait\(|\.join\(|\bwith\b.*[Ll]ock",
        "the line takes a lock",
    ),
    ("data", r"\.get\(|\.recv|\bnext\(", "the line asks for data"),
    ("unknown", r"\bsleep\(", "the line sleeps"),
)
# Threads that make batches while the main thread waits in native code.
_PRODUCER = r"from_generator|/script_ops\.py|/data_adapters?/|/py_dataset"
_NATIVE_CALL = r"/eager/execute\.py|/eager/context\.py|/atomic_function\.py"

# What may take long while it works, without anything being wrong.
_LONG_WORK = (
    rf"{_COMPILING}|checkpoint|/saving/|/saved_model/|backup_and_restore|/h5py/"
)
# Before a training: who waits here waits for people or for requests, and means to.
_MEANS_TO_WAIT = (
    r"/(pdb|bdb|cmd|code|getpass)\.py:|/asyncio/|/socketserver\.py:|/http/server\.py:"
    r"|/(tornado|ipykernel|IPython|uvicorn|gunicorn|werkzeug|flask)/"
)
_ASKS_A_PERSON = r"\b(input|breakpoint|getpass)\("
_EPOCH_END = r":on_(epoch|test|train)_(begin|end)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What was seen of the trainer when it stood still.

    Attributes:
        state: The letter of its main thread in `/proc`; empty if unknown.
        tracer: Process id of a debugger; 0 without one.
        stacks: Python stacks as `faulthandler` writes them; empty if there are none.
        code: The text of the innermost line of the thread that trains.
        wchan: Where in the kernel its main thread sleeps; empty if unknown.
        computes: One of its threads ran, or waited for a core, at both of two looks.
    """

    state: str = ""
    tracer: int = 0
    stacks: str = ""
    code: str = ""
    wchan: str = ""
    computes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A cause, never more certain than what was seen.

    Attributes:
        waits_for: A word of `Stalled.waits_for`.
        because: Why we think so, as a sentence.
        is_slow: It works at something that may take long: not a stall, for now.
    """

    waits_for: str
    because: str
    is_slow: bool = False


def explain(stall: Stall, scene: Scene) -> Explanation:
    """What it seems to wait for."""
    threads = parse(scene.stacks)
    thread = training_thread(threads)
    waits_for, because = _cause(stall, scene, threads, thread)
    return Explanation(
        waits_for=waits_for,
        because=because,
        is_slow=waits_for != "stopped" and _is_slow(stall, scene, thread),
    )


def _cause(
    stall: Stall, scene: Scene, threads: list[Thread], thread: Thread | None
) -> tuple[str, str]:
    if scene.state in ("T", "t"):
        return "stopped", _stopped(scene)
    if scene.state == "D":
        return "disk", (
            "The kernel says that it waits for a device (state D): a disk, or a "
            "network file system."
        )
    is_busy = _is_busy(stall, scene)
    if is_busy and stall.phase in MAY_COMPILE:
        return "compile", "A first step compiles, and the process computes."
    return (
        _by_frames(thread)
        or (None if is_busy else _by_line(thread, scene))
        or _by_producer(threads, thread)
        or _by_cpu(stall, thread, is_busy)
    )


def _stopped(scene: Scene) -> str:
    if scene.tracer:
        return f"A debugger (process {scene.tracer}) holds it."
    return "A signal stopped it (SIGSTOP, or Ctrl-Z): the kernel does not run it."


def _by_frames(thread: Thread | None) -> tuple[str, str] | None:
    for word, pattern, words in _HINTS:
        frame = _find(pattern, thread)
        if frame is not None:
            place = innermost_own_frame(thread) or frame
            return word, f"Its Python stack says that {words} ({_place(place)})."
    return None


def _by_line(thread: Thread | None, scene: Scene) -> tuple[str, str] | None:
    """What the innermost line says, if no frame below it does."""
    if thread is None or not thread.frames:
        return None
    innermost = thread.frames[0]
    for word, pattern, words in _CODE_HINTS:
        if re.search(pattern, scene.code):
            return word, f"It stands at {_place(innermost)}, and {words}."
    # All waiting in native code of TensorFlow looks like this, too.
    if scene.wchan.startswith("futex") and not innermost.is_library:
        return "lock", (
            f"It stands at {_place(innermost)}, and the kernel says that it waits "
            "for a lock (futex)."
        )
    return None


def _by_producer(
    threads: list[Thread], thread: Thread | None
) -> tuple[str, str] | None:
    if _find(_NATIVE_CALL, thread) is None:
        return None
    for other in threads:
        own = innermost_own_frame(other)
        if other is not thread and own and _find(_PRODUCER, other):
            return "data", (
                "The step waits in native code, and a thread that makes batches has "
                f"not returned from {_place(own)}."
            )
    return None


def _by_cpu(stall: Stall, thread: Thread | None, is_busy: bool) -> tuple[str, str]:
    place = innermost_own_frame(thread)
    where = f" Its Python stack is at {_place(place)}." if place else ""
    if is_busy:
        return "busy", f"It computes: {stall.cpu_fraction or 0:.0%} of a core.{where}"
    if thread is None:
        return "unknown", "It does nothing, and its Python stacks could not be had."
    return "unknown", f"It does nothing, and its stack does not say why.{where}"


def _is_busy(stall: Stall, scene: Scene) -> bool:
    """On a crowded machine what computes gets little of a core."""
    least = IDLE_CPU_FRACTION if scene.computes else BUSY_CPU_FRACTION
    return (stall.cpu_fraction or 0.0) > least


def _is_slow(stall: Stall, scene: Scene, thread: Thread | None) -> bool:
    if stall.phase is Phase.NOT_TRAINING:
        asks = re.search(_ASKS_A_PERSON, scene.code) is not None
        return asks or _find(_MEANS_TO_WAIT, thread) is not None
    if not stall.works and not _is_busy(stall, scene):
        return False
    if stall.phase in MAY_COMPILE or _find(_LONG_WORK, thread):
        return True
    at_an_epoch_end = stall.phase is Phase.BETWEEN_EPOCHS or _find(_EPOCH_END, thread)
    if at_an_epoch_end and stall.silent_seconds < ENDLESS_SECONDS:
        return True
    in_own_code = thread and thread.frames and not thread.frames[0].is_library
    return not in_own_code and stall.silent_seconds < BUSY_SECONDS


def _find(pattern: str, thread: Thread | None) -> Frame | None:
    """The innermost frame that fits."""
    for frame in thread.frames if thread else ():
        if re.search(pattern, f"{frame.file}:{frame.function}"):
            return frame
    return None


def _place(frame: Frame) -> str:
    return f"{frame.file}, line {frame.line}"
