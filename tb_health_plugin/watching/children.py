"""Sees processes of the trainer die while the trainer goes on: data workers, mostly."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.collectors.kernel_files import read
from tb_health_plugin.events import facts
from tb_health_plugin.watching.process_status import WatchedProcess
from tb_health_plugin.writing.scribe import Scribe

# Looking for new ones costs a file per thread of the trainer.
LOOK_SECONDS = 5.0
# Enough for data workers; a program that starts more of them is not about those.
MOST_FOLLOWED = 64
# No program ends its workers in these ways. SIGTERM is how pools are closed.
_NOT_ITS_WISH = (
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
)


@dataclass(frozen=True, slots=True)
class _Child:
    name: str
    fd: int
    process: WatchedProcess


class Children:
    """Follows the direct children of a process.

    Args:
        pid: The trainer.
        scribe: Told of a child that a signal ended.
        root: Stands in for `/` in tests.
    """

    def __init__(self, pid: int, scribe: Scribe, *, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._pid = pid
        self._scribe = scribe
        self._followed: dict[int, _Child] = {}
        self._next_look = 0.0

    def look(self, now: float) -> None:
        """Tells of those that ended, and from time to time finds new ones."""
        for pid, child in list(self._followed.items()):
            if child.process.wait(0.0):
                self._ended(pid, child)
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._find()

    def _find(self) -> None:
        try:
            tasks = list((self._proc / str(self._pid) / "task").iterdir())
        except OSError:
            return
        for task in tasks:
            for word in read(task / "children").split():
                if len(self._followed) < MOST_FOLLOWED:
                    self._follow(int(word))

    def _follow(self, pid: int) -> None:
        if pid in self._followed or not hasattr(os, "pidfd_open"):
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return
        name = read(self._proc / str(pid) / "comm").strip()
        self._followed[pid] = _Child(name, fd, WatchedProcess(pid, fd))

    def _ended(self, pid: int, child: _Child) -> None:
        status = child.process.status()
        os.close(child.fd)
        del self._followed[pid]
        if status.signal not in _NOT_ITS_WISH:
            return
        self._scribe.write(
            facts.ChildEnded(
                wall_time=time.time(),
                step=self._scribe.step,
                pid=pid,
                name=child.name,
                signal=status.signal,
            )
        )
