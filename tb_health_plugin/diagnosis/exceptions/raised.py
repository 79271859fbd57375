"""An exception as it was recorded, and what it says once the wrapping is taken off."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tb_health_plugin.diagnosis.figures import cut
from tb_health_plugin.diagnosis.moments import NOT_BEGUN, stopped_at, where
from tb_health_plugin.diagnosis.verdict import Evidence, Moment
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BLOCK = "Traceback (most recent call last):"
_DIRECT_CAUSE = "The above exception was the direct cause of the following exception"
_ANOTHER = "During handling of the above exception"
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+), in (.+?)\s*$', re.MULTILINE)
# The last line of a traceback: a class, maybe with its module, and what it says.
_LAST_LINE = re.compile(
    r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*|(?:[A-Za-z_]\w*\.)+_\w+)(?:: (.*))?$"
)
_LIBRARY = re.compile(
    r"/(site|dist)-packages/|/lib(64)?/python\d|/tb_health_plugin/|^<frozen|^<string>"
    r"|__autograph_generated_file|\.pyx$"
)
# What TensorFlow and Keras put around a message.
_AROUND = re.compile(
    r"\{\{function_node [^}]*\}\}\s*|\s*\[\[\{?\{?node [^]]*\]\]|\s*\[\[\w+\]\]"
    r"|\s*\[Op:[^]]*\](?: name:\s*\S*)?"
)
_NOT_SAID = re.compile(
    r"""^(?:\s*$|\s+|Graph\ execution\ error:|Detected\ at\ node|<stack\ traces
    |Node:\ |File\ "|Call\ arguments\ received|Arguments\ received
    |Exception\ encountered\ when\ calling|\d+\ root\ error
    |multiprocessing\.pool\.Remote|Traceback\ \(most\ recent|in\ user\ code:|\"\"\")""",
    re.VERBOSE,
)
_ROOT_ERROR = re.compile(r"^\s*\(\d+\)\s+[A-Za-z_ ]+:\s*")
# Messages are recorded up to 8 KiB. A longer one has its point at its end.
_CUT_LENGTH = 8_000
_LONGEST_SAID = 300
# What it says again beside a fix: the evidence has all of it.
_LONGEST_AGAIN = 160


@dataclass(frozen=True, slots=True)
class Voice:
    """One exception of a chain: its class and what it says."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of Python in a traceback."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, eq=False)
class Raised:
    """An exception that left a training, or ended the program.

    Attributes:
        attempt: The record it is part of.
        name: Its class, without its module.
        message: What it says, in full.
        text: Its traceback.
        during: Where in a training it struck; None if that is not known.
        callback: Class of the callback it struck in.
        file: Source file of the user's own line.
        line: That line.
        function: The function it is in.
        happened_at: When.
        training: The training that it left; None if it left none.
        step: Steps done by then.
        is_whole: Class and message were recorded, be the message empty.
    """

    attempt: Attempt
    name: str
    message: str = ""
    text: str = ""
    during: str | None = None
    callback: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    happened_at: float | None = None
    training: facts.TrainingStarted | None = None
    step: int | None = None
    is_whole: bool = True

    @classmethod
    def by(
        cls, attempt: Attempt, end: facts.RunEnded | facts.TrainingEnded
    ) -> "Raised":
        """From the fact that tells of it."""
        number = end.training if isinstance(end, facts.TrainingEnded) else None
        begun = [
            one
            for one in attempt.all(facts.TrainingStarted)
            if number is None or one.training == number
        ]
        return cls(
            attempt=attempt,
            name=(end.exception or "an exception").rsplit(".", 1)[-1],
            message=_COLOUR.sub("", end.message or ""),
            text=_COLOUR.sub("", end.text or ""),
            during=end.during,
            callback=end.callback,
            file=end.file,
            line=end.line,
            function=end.function,
            happened_at=getattr(end, "happened_at", None) or end.wall_time,
            training=begun[-1] if begun else None,
            step=end.last_step if number is not None else None,
            is_whole=end.exception is not None and end.message is not None,
        )

    @functools.cached_property
    def whole(self) -> str:
        """Its message, the end included."""
        if len(self.message) < _CUT_LENGTH:
            return self.message
        begins = re.compile(rf"^(?:[\w.]+\.)?{re.escape(self.name)}: ", re.MULTILINE)
        found = list(begins.finditer(self.text))
        return self.text[found[-1].end() :] if found else self.message

    @functools.cached_property
    def said(self) -> str:
        """What it says in one sentence, without what TensorFlow puts around it."""
        return said_in(self.whole) or said_in(self.message)

    @property
    def in_short(self) -> str:
        """What it says, short enough to stand beside a fix."""
        return cut(self.said or self.name, _LONGEST_AGAIN)

    @functools.cached_property
    def voices(self) -> tuple[Voice, ...]:
        """All exceptions of the chain, the one that was raised at last first."""
        found = [Voice(self.name, self.whole)]
        for block in self._causes():
            voice = _voice(block)
            if voice is not None:
                found.append(voice)
        return tuple(dict.fromkeys(found))

    @functools.cached_property
    def inner(self) -> Voice | None:
        """The program's own exception inside one of TensorFlow's."""
        return next(
            (
                voice
                for block in _blocks(self.whole)
                if (voice := _voice(block)) and voice.name != self.name
            ),
            None,
        )

    @functools.cached_property
    def frames(self) -> tuple[Frame, ...]:
        """All frames of the traceback and of those in its message, in their order."""
        found = _FRAME.findall(f"{self.text}\n{self.message}")
        return tuple(Frame(file, int(line), name) for file, line, name in found)

    @functools.cached_property
    def own_frame(self) -> Frame | None:
        """The user's own line; None if only lines of libraries are known."""
        if self.file and self.line and not _LIBRARY.search(self.file):
            return Frame(self.file, self.line, self.function or "")
        own = [frame for frame in self.frames if not _LIBRARY.search(frame.file)]
        return own[-1] if own else None

    def passes(self, pattern: str) -> bool:
        """Its traceback has a frame like this, as `<file>:<function>`."""
        seen = re.compile(pattern)
        return any(
            seen.search(f"{frame.file}:{frame.function}") for frame in self.frames
        )

    def find(self, pattern: str) -> re.Match[str] | None:
        """The first match in what any exception of the chain says."""
        for voice in self.voices:
            found = re.search(pattern, voice.message, re.IGNORECASE)
            if found:
                return found
        return None

    def is_a(self, *names: str) -> bool:
        """One exception of the chain is of such a class."""
        return any(voice.name in names for voice in self.voices)

    @property
    def from_tensorflow(self) -> bool:
        """TensorFlow raised it: its classes are not of Python."""
        return self.name in TENSORFLOW

    @functools.cached_property
    def in_callback(self) -> bool:
        """A callback raised it."""
        if self.during is not None:
            return self.during == "callback"
        return self.passes(r"/callbacks/callback_list\.py:on_")

    @functools.cached_property
    def in_data(self) -> bool:
        """The data pipeline raised it."""
        if self.during == "data" or self.is_a("DataLossError"):
            return True
        if self.in_callback:
            return False
        return "IteratorGetNext" in self.whole or self.passes(
            r"/data_adapters/(generator|py_dataset|tf_dataset|torch)\w*_adapter\.py"
            r"|/python/data/ops/iterator_ops\.py|/epoch_iterator\.py:_enumerate"
        )

    @property
    def at(self) -> Moment:
        end = stopped_at(self.attempt)
        step = end.step if self.step is None else self.step
        return Moment(step=step, epoch=end.epoch, wall_time=self.happened_at)

    @property
    def where(self) -> str:
        """Where in the run, as the rest of a sentence."""
        if self.step is None:
            return where(self.attempt)
        return f"at step {self.step:,}" if self.step else NOT_BEGUN

    @property
    def place(self) -> dict[str, str | int]:
        """For a verdict: callback, file, line."""
        found: dict[str, str | int] = {}
        if self.callback:
            found["callback"] = self.callback
        frame = self.own_frame
        if frame is not None:
            found.update(file=frame.file, line=frame.line)
        return found

    @property
    def line_words(self) -> str:
        """As in "train.py:41"; empty if no line of the user's is known."""
        frame = self.own_frame
        return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame else ""

    def evidence(self) -> tuple[Evidence, ...]:
        """What was raised, and where."""
        inner = self.inner
        name = inner.name if inner else self.name
        text = said_in(inner.message) if inner else self.said
        said = f"{name}: {text}" if text else name
        frame = self.own_frame
        if frame is not None:
            said += f" ({frame.file}, line {frame.line})"
        found = [Evidence(text=said, at=self.at)]
        if inner is not None:
            passed = f"It reached the training as {self.name}."
            found.append(Evidence(text=passed, strong=False, at=self.at))
        return tuple(found)

    def setting(self, name: str) -> str | None:
        """A setting of the training."""
        return self.training.settings.get(name) if self.training else None

    def _causes(self) -> Iterator[str]:
        """Tracebacks of what it came from: in its message, then in its chain."""
        yield from _blocks(self.whole)
        before = self.text.split(_ANOTHER)[-1].split(_DIRECT_CAUSE)[:-1]
        for part in reversed(before):
            yield from _blocks(part)


# Classes of tf.errors. A program's own exceptions never have these names by chance.
TENSORFLOW = frozenset(
    {
        "AbortedError",
        "AlreadyExistsError",
        "CancelledError",
        "DataLossError",
        "DeadlineExceededError",
        "FailedPreconditionError",
        "InternalError",
        "InvalidArgumentError",
        "NotFoundError",
        "OutOfRangeError",
        "PermissionDeniedError",
        "ResourceExhaustedError",
        "UnauthenticatedError",
        "UnavailableError",
        "UnimplementedError",
        "UnknownError",
        "XlaRuntimeError",
        "JaxRuntimeError",
    }
)


def said_in(message: str) -> str:
    """The first line of a message that says something of its own."""
    message = _COLOUR.sub("", message)
    for line in message.splitlines():
        line = _ROOT_ERROR.sub("", line)
        if _NOT_SAID.match(line):
            continue
        line = _AROUND.sub("", line).strip()
        if line:
            return line if len(line) <= _LONGEST_SAID else f"{line[:_LONGEST_SAID]}…"
    lines = message.strip().splitlines()
    return lines[0][:_LONGEST_SAID] if lines else ""


def _blocks(text: str) -> list[str]:
    return text.split(_BLOCK)[1:]


def _voice(block: str) -> Voice | None:
    """The exception that a traceback ends with."""
    lines = block.splitlines()
    frames = [n for n, line in enumerate(lines) if _FRAME.match(line)]
    if not frames:
        return None
    for number in range(frames[-1] + 1, len(lines)):
        found = _LAST_LINE.match(lines[number])
        if found:
            rest = "\n".join(lines[number + 1 :]).split('"""')[0]
            message = f"{found[2] or ''}\n{rest}".strip()
            return Voice(found[1].rsplit(".", 1)[-1], message)
    return None
