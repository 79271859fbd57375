"""Reads the stacks that `faulthandler` writes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_THREAD = re.compile(r"(Current thread|Thread) 0x[0-9a-f]+.*most recent call first")
_FRAME = re.compile(r'  File "(.*)", line (\d+|\?\?\?)(?: in (.*))?$')
# Installed packages, the standard library, and code that has no file.
_LIBRARY = re.compile(
    r"/(site|dist)-packages/|/lib(64)?/python\d|/tb_health_plugin/|^<frozen|^<string>"
)
# The call that trains, in Keras' own words.
_FIT = re.compile(r"/trainers?\.py$")


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of Python that has not returned."""

    file: str
    line: int
    function: str

    @property
    def is_library(self) -> bool:
        return bool(_LIBRARY.search(self.file))


@dataclass(frozen=True, slots=True)
class Thread:
    """The frames of one thread, innermost first.

    Attributes:
        is_current: It is the one that was interrupted to write the stacks.
        frames: Where it was.
    """

    is_current: bool
    frames: tuple[Frame, ...]


def parse(text: str) -> list[Thread]:
    """The threads in a text; whatever else is in it is skipped."""
    threads: list[tuple[bool, list[Frame]]] = []
    inside = False
    for line in text.splitlines():
        head = _THREAD.match(line)
        frame = _FRAME.match(line)
        if head:
            threads.append((head[1] == "Current thread", []))
        elif frame and inside:
            number = int(frame[2]) if frame[2].isdecimal() else 0
            threads[-1][1].append(Frame(frame[1], number, frame[3] or ""))
        inside = bool(head or (frame and inside))
    return [Thread(current, tuple(frames)) for current, frames in threads]


def training_thread(threads: Sequence[Thread]) -> Thread | None:
    """The thread that trains: the one in `fit`, else the main thread."""
    for thread in threads:
        if any(f.function == "fit" and _FIT.search(f.file) for f in thread.frames):
            return thread
    # The kernel interrupts the main thread if it can; faulthandler lists it last.
    for thread in threads:
        if thread.is_current:
            return thread
    return threads[-1] if threads else None


def innermost_own_frame(thread: Thread | None) -> Frame | None:
    """The deepest frame of the user's own code."""
    frames = thread.frames if thread else ()
    return next((frame for frame in frames if not frame.is_library), None)
