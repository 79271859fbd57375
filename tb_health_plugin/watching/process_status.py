"""How a process ended, seen by one that is not its parent."""

import fcntl
import os
import select
import struct
from dataclasses import dataclass
from pathlib import Path

# From linux/pidfd.h: the size of struct pidfd_info, and the bit that asks for the exit
# code. Linux 6.15 and later answer, also after somebody else has reaped the process.
_INFO_BYTES = 64
_INFO_EXIT = 1 << 3
_EXIT_CODE_AT = 60
_GET_INFO = (3 << 30) | (_INFO_BYTES << 16) | (0xFF << 8) | 11

# The 52nd field of /proc/<pid>/stat, counted behind the name in brackets.
_EXIT_CODE_FIELD = 49

# Between the two looks of one try the parent may reap it; never between all of them.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Status:
    """How it ended.

    Attributes:
        exit_code: Its exit status, or None if a signal ended it or nobody saw.
        signal: The signal that ended it, or None.
        seen_by: "pidfd", "zombie" or "gone".
    """

    exit_code: int | None
    signal: int | None
    seen_by: str


class WatchedProcess:
    """Waits for the end of a process.

    Args:
        pid: Which one.
        fd: A pidfd of it, or -1 where the system has none.
        root: Stands in for `/` in tests.
    """

    def __init__(self, pid: int, fd: int, *, root: Path = Path("/")) -> None:
        self._pid = pid
        self._fd = fd
        self._stat = root / f"proc/{pid}/stat"
        self._poll = select.poll()
        if fd >= 0:
            self._poll.register(fd, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Waits at most so long; true if the process has ended."""
        if self._fd >= 0:
            return bool(self._poll.poll(max(0.0, seconds) * 1_000))
        select.select([], [], [], max(0.0, seconds))
        return self._state() in ("", "Z", "X")

    def status(self) -> Status:
        """How it ended, as exactly as the system tells."""
        for _ in range(_TRIES):
            # A pidfd tells once the parent has reaped the process, /proc until then.
            code = _ask_pidfd(self._fd) if self._fd >= 0 else None
            if code is not None:
                return _status(code, "pidfd")
            fields = self._fields()
            if fields and fields[0] == "Z":
                return _status(int(fields[_EXIT_CODE_FIELD]), "zombie")
        return Status(None, None, "gone")

    def _state(self) -> str:
        fields = self._fields()
        return fields[0] if fields else ""

    def _fields(self) -> list[str]:
        try:
            text = self._stat.read_text(errors="replace")
        except OSError:
            return []
        return text[text.rindex(")") + 2 :].split()


def _ask_pidfd(fd: int) -> int | None:
    info = bytearray(struct.pack("<Q", _INFO_EXIT) + bytes(_INFO_BYTES - 8))
    try:
        fcntl.ioctl(fd, _GET_INFO, info, True)
    except OSError:
        return None
    (mask,) = struct.unpack_from("<Q", info)
    if not mask & _INFO_EXIT:
        return None
    (code,) = struct.unpack_from("<i", info, _EXIT_CODE_AT)
    return int(code)


def _status(code: int, seen_by: str) -> Status:
    if os.WIFSIGNALED(code):
        return Status(None, os.WTERMSIG(code), seen_by)
    return Status(os.WEXITSTATUS(code), None, seen_by)
