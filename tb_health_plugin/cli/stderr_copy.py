"""Copies a program's standard error to ours, byte by byte, and keeps its tail.

Only a terminal or a pipe is stood between. A regular file keeps its own tail, and
anything else is left alone.
"""

import contextlib
import fcntl
import os
import select
import stat
import tempfile
import termios

# The watcher reads so much; the file is cut when it holds a few times more.
KEPT_BYTES = 8 << 10
MOST_BYTES = 64 << 10
# One read: what a pipe holds at most.
_READ_BYTES = 64 << 10
# A terminal hands on what was written to it a moment later.
_LAST_BYTES_MILLISECONDS = 20
_STDERR = 2
_OFLAG = 1


class Tail:
    """The last bytes, in a file without a name that another process can read.

    It is locked until nothing more will come.

    Attributes:
        path: Where others open it, as long as this process lives.
    """

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("standard-error")
        else:
            with tempfile.TemporaryFile() as file:
                self._fd = os.dup(file.fileno())
        self._size = 0
        self.path = f"/proc/{os.getpid()}/fd/{self._fd}"
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def add(self, data: bytes) -> None:
        os.pwrite(self._fd, data, self._size)
        self._size += len(data)
        if self._size > MOST_BYTES:
            kept = os.pread(self._fd, KEPT_BYTES, self._size - KEPT_BYTES)
            # In this order a reader finds the tail at the end at every moment.
            os.pwrite(self._fd, kept, 0)
            os.ftruncate(self._fd, len(kept))
            self._size = len(kept)

    def complete(self) -> None:
        """Nothing more will come."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)


class StderrCopy:
    """Stands between a program and our standard error.

    Attributes:
        tail: What was copied last.
        program_end: What the program gets as its standard error; closed by `begin`.
        our_end: Where its output arrives.
    """

    def __init__(self, our_end: int, program_end: int) -> None:
        self.our_end = our_end
        self.program_end = program_end
        self.tail = Tail()
        self.at_end = False

    def begin(self) -> None:
        """The program has its end now."""
        os.close(self.program_end)

    def copy_some(self) -> None:
        """Hands on what has arrived; `at_end` tells if nothing more can come."""
        try:
            data = os.read(self.our_end, _READ_BYTES)
        except OSError:
            # A terminal that nobody else has open any more.
            data = b""
        if not data:
            self._stop()
            return
        self.tail.add(data)
        try:
            _write_all(_STDERR, data)
        except OSError:
            # Our reader went away. The program meets that at its next write.
            self._stop()

    def copy_the_rest(self) -> None:
        """Hands on what a program that has ended left behind."""
        poll = select.poll()
        poll.register(self.our_end, select.POLLIN)
        while not self.at_end and poll.poll(_LAST_BYTES_MILLISECONDS):
            self.copy_some()
        self.tail.complete()

    def resize(self) -> None:
        """The program's terminal gets the size of ours."""
        if self.at_end:
            return
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(_STDERR, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.our_end, termios.TIOCSWINSZ, size)

    def _stop(self) -> None:
        self.at_end = True
        os.close(self.our_end)


def stderr_copy() -> StderrCopy | None:
    """One for our standard error; None if that is to be left alone."""
    try:
        mode = os.fstat(_STDERR).st_mode
        if stat.S_ISFIFO(mode):
            return StderrCopy(*os.pipe())
        if os.isatty(_STDERR):
            return _terminal()
    except OSError:
        pass
    return None


def _terminal() -> StderrCopy:
    """A terminal like ours, but it changes no byte: ours does that already."""
    our_end, program_end = os.openpty()
    attributes = termios.tcgetattr(_STDERR)
    attributes[_OFLAG] &= ~termios.OPOST
    termios.tcsetattr(program_end, termios.TCSANOW, attributes)
    copy = StderrCopy(our_end, program_end)
    copy.resize()
    return copy


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            # Somebody made the terminal that we share non-blocking.
            select.select([], [fd], [])
