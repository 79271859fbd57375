"""What the trainer left behind: stacks from signal handlers, and its last output."""

import os
from pathlib import Path

# Enough for the stacks of some hundred threads, or the output of the last minutes.
STACKS_BYTES = 48 << 10
OUTPUT_BYTES = 8 << 10


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

    def stacks(self) -> str:
        """The newest stacks, as text."""
        return _tail(self._stacks_fd, STACKS_BYTES)

    def output_tail(self) -> str:
        """The last lines of standard error."""
        return _tail(self._output_fd, OUTPUT_BYTES)


def _open(path: str) -> int:
    if not path or not Path(path).is_file():
        return -1
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _tail(fd: int, length: int) -> str:
    if fd < 0:
        return ""
    try:
        size = os.fstat(fd).st_size
        data = os.pread(fd, length, max(0, size - length))
    except OSError:
        return ""
    return data.decode("utf-8", "replace")
