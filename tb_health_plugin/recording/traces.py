"""Says an exception in words, with the user's own line among all the library's."""

import functools
import re
import site
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType

# Keras colours parts of its messages.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# A frame, as Python and TensorFlow write it into a text.
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+), in (.+?)\s*\*?$', re.MULTILINE)
# What stands above the frames of an exception that came as text.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):|in user code:")
_ANOTHER = "During handling of the above exception"
# A traceback that came from another process is the cause of the exception here.
_REMOTE = ("RemoteTraceback", "_RemoteTraceback")
# Written by TensorFlow from the user's code; the user never sees these files.
_GENERATED = "__autograph_generated_file"
# The end of a text is what counts; a model in a message can be megabytes.
LONGEST_TEXT = 64 << 10
LONGEST_MESSAGE = 8 << 10


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source code."""

    file: str
    line: int | None
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorWords:
    """An exception as it is recorded.

    Attributes:
        exception: Its class.
        message: What it says.
        text: Its traceback.
        place: The innermost line of the user's own code, in whichever process or
            thread of the data pipeline it was.
    """

    exception: str
    message: str
    text: str
    place: Place | None


def words_of(
    error: BaseException,
    trace: TracebackType | None,
    *,
    caught_in: FrameType | None = None,
) -> ErrorWords:
    """The words for `error`, whose frames from here inwards are in `trace`.

    Args:
        error: The exception.
        trace: Its traceback so far.
        caught_in: Where it passes just now; the frames around are told too.
    """
    said = traceback.TracebackException(type(error), error, trace)
    around = traceback.extract_stack(caught_in.f_back) if caught_in else []
    frames = [f for f in (*around, *said.stack) if not _is_ours(f.filename)]
    said.stack = traceback.StackSummary.from_list(frames)
    message = _message(error)
    return ErrorWords(
        exception=type(error).__name__,
        message=message[:LONGEST_MESSAGE],
        text="".join(said.format())[-LONGEST_TEXT:],
        place=_place(error, trace, message),
    )


def innermost_user_frame(
    trace: TracebackType | None,
) -> traceback.FrameSummary | None:
    """The deepest frame that is neither a library's nor ours; else the deepest."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if not is_library(frame.filename)]
    candidates = own or list(frames)
    return candidates[-1] if candidates else None


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Takes our frames out of a traceback: nobody shall look for a fault there."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    if trace is not None:
        trace.tb_next = without_ours(trace.tb_next)
    return trace


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that called it, one after the other."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_library(filename: str) -> bool:
    """True for files of installed packages, the standard library and ourselves."""
    return filename.startswith(("<frozen", *_library_roots())) or _GENERATED in filename


def _place(
    error: BaseException, trace: TracebackType | None, message: str
) -> Place | None:
    cause = error.__cause__ or error.__context__
    if cause is not None and type(cause).__name__ in _REMOTE:
        message = f"{_message(cause)}\n{message}"
    told = _place_in_text(message)
    if told is not None:
        return told
    frame = innermost_user_frame(trace)
    return Place(frame.filename, frame.lineno, frame.name) if frame else None


def _place_in_text(text: str) -> Place | None:
    """The user's innermost line in a traceback that is part of a message.

    Code of a data pipeline runs in threads and processes of its own; what it raises
    reaches the training as text. The first traceback is the one it all began with.
    """
    for one in _TRACEBACK.split(text.rsplit(_ANOTHER, 1)[-1])[1:]:
        frames = [f for f in _FRAME.findall(one) if not is_library(f[0])]
        if frames:
            file, line, function = frames[-1]
            return Place(file, int(line), function)
    return None


def _message(error: BaseException) -> str:
    """What it says, without colours; an exception may even fail to say that."""
    try:
        return _COLOUR.sub("", str(error))
    except Exception:  # noqa: BLE001 - the program's own code runs here
        return ""


def _is_ours(filename: str) -> bool:
    return filename.startswith(_own_root())


@functools.cache
def _own_root() -> str:
    return __file__.rsplit("/", 2)[0] + "/"


@functools.cache
def _library_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    roots.update(site.getsitepackages())
    roots.add(_own_root())
    return tuple(roots)
