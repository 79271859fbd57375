"""What the trainer left behind: stacks from signal handlers, and its last output."""

import fcntl
import os
import time
from pathlib import Path

# Enough for the stacks of some hundred threads, or the output of the last minutes.
STACKS_BYTES = 48 << 10
OUTPUT_BYTES = 8 << 10

_COPIED_WITHIN_SECONDS = 1.0

# How faulthandler begins when a process crashes.
_CRASH = "Fatal Python error"


class LastWords:
    """Reads what is left.

    Args:
        stacks_fd: The file that `faulthandler` writes to, or -1.
        output: The file that standard error goes to; empty if it is none. It is
            opened now, so that it can be read when it was renamed since.
    """

    def __init__(self, stacks_fd: int, output: str) -> None:
        self._stacks_fd = stacks_fd
        self._output_fd = _open(output)
        # What stands before this was asked for, and is not of the end.
        self._taken = 0
        self._is_asked = False

    def stacks(self) -> str:
        """The newest stacks that nobody asked for, as text."""
        text = _tail(self._stacks_fd, STACKS_BYTES, after=self._taken)
        if self._is_asked:
            # An answer that came late may be among them; a crash names itself.
            return text[text.find(_CRASH) :] if _CRASH in text else ""
        return text

    def ask(self) -> None:
        """From now on stacks are an answer, until `take`."""
        self._taken = _size(self._stacks_fd)
        self._is_asked = True

    def answer(self) -> str:
        """What was written since `ask`."""
        return _tail(self._stacks_fd, STACKS_BYTES, after=self._taken)

    def take(self) -> str:
        """The whole answer. What is written later is not part of it."""
        text = self.answer()
        if text and _CRASH not in text:
            self._taken = _size(self._stacks_fd)
            self._is_asked = False
        return text

    def output_tail(self) -> str:
        """The last lines of standard error."""
        self._wait_for_the_launcher()
        return _tail(self._output_fd, OUTPUT_BYTES)

    def _wait_for_the_launcher(self) -> None:
        """The launcher holds a lock until it has copied the last bytes."""
        deadline = time.monotonic() + _COPIED_WITHIN_SECONDS
        while self._output_fd >= 0 and time.monotonic() < deadline:
            try:
                fcntl.flock(self._output_fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                return
            else:
                fcntl.flock(self._output_fd, fcntl.LOCK_UN)
                return


def _open(path: str) -> int:
    if not path or not Path(path).is_file():
        return -1
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _size(fd: int) -> int:
    try:
        return os.fstat(fd).st_size if fd >= 0 else 0
    except OSError:
        return 0


def _tail(fd: int, length: int, *, after: int = 0) -> str:
    if fd < 0:
        return ""
    try:
        start = max(after, _size(fd) - length)
        data = os.pread(fd, length, start)
    except OSError:
        return ""
    return data.decode("utf-8", "replace")
