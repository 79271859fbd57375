"""Lets each signal reach the program exactly once, as if the launcher were not there.

Some signals come to the launcher alone (`docker stop`, `kill PID`), others to every
process of the group or of the job (Ctrl-C, Slurm, systemd): the program has those
already. Nothing in a signal tells the two apart. So a witness stands beside us, a tiny
process that nobody knows: what reaches it too was sent to all of us.
"""

import contextlib
import math
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

_NAMES = (
    "SIGINT",
    "SIGQUIT",
    "SIGTERM",
    "SIGHUP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGXCPU",
    "SIGTSTP",
    "SIGCONT",
    "SIGWINCH",
)
# How long to wait for the witness. No one who asks a training to end minds so little.
_WITNESS_SECONDS = 0.2
# What it saw within this time before or after us was the same signal.
_SAME_SECONDS = 0.5

_SEEN = struct.Struct("<id")
# Isolated, without site: it needs the standard library alone. Signals stay blocked, as
# it got them, so that none can end or stop it; it goes when the launcher is gone.
_WITNESS = (
    "import os, signal, struct, sys, time\n"
    "out, launcher, *signals = map(int, sys.argv[1:])\n"
    "while os.getppid() == launcher:\n"
    "    seen = signal.sigtimedwait(signals, 5)\n"
    "    if seen:\n"
    f"        data = struct.pack({_SEEN.format!r}, seen.si_signo, time.monotonic())\n"
    "        os.write(out, data)\n"
)


class SignalRelay:
    """Takes signals in place of the launcher, from now on.

    A program started later gets them as they were: handlers do not outlive `exec`, and
    what is ignored (nohup, a job in the background) is left alone.

    Args:
        resized: Called when the terminal has changed its size.

    Attributes:
        arrivals: Readable when a signal has come; see `look`. A library's thread may
            take a signal, and then nothing else wakes the main thread up.
    """

    def __init__(self, resized: Callable[[], None]) -> None:
        self._resized = resized
        self._pid: int | None = None
        self._early: list[int] = []
        self._seen: dict[int, float] = {}
        signals = [getattr(signal, name) for name in _NAMES]
        signals = [one for one in signals if signal.getsignal(one) != signal.SIG_IGN]
        self._reports, out = os.pipe()
        os.set_blocking(self._reports, False)
        self._witness = _start_witness(out, signals)
        os.close(out)
        self.arrivals, into = os.pipe()
        os.set_blocking(self.arrivals, False)
        os.set_blocking(into, False)
        signal.set_wakeup_fd(into, warn_on_full_buffer=False)
        for number in signals:
            signal.signal(number, self._arrived)

    def begin(self, pid: int) -> None:
        """The program has started as process `pid`."""
        self._pid = pid
        for number in self._early:
            self._hand_on(pid, number)

    def look(self) -> None:
        """Lets handlers of signals run: Python calls them on the way."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.arrivals, 1_024)

    def stop(self) -> None:
        """Relays no more. Must come before the program's process is reaped."""
        self._pid = None
        if self._witness is not None:
            self._witness.kill()
            self._witness.wait()

    def _arrived(self, number: int, _: object) -> None:
        """Runs in the main thread, maybe while another signal is dealt with."""
        if number == signal.SIGWINCH:
            self._resized()
        if self._pid is None:
            self._early.append(number)
        else:
            self._hand_on(self._pid, number)
        if number == signal.SIGTSTP:
            self._stop_here()

    def _hand_on(self, pid: int, number: int) -> None:
        if not self._came_to_all(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _came_to_all(self, number: int) -> bool:
        now = time.monotonic()
        while abs(self._seen.get(number, -math.inf) - now) > _SAME_SECONDS:
            left = now + _WITNESS_SECONDS - time.monotonic()
            if left <= 0:
                return False
            select.select([self._reports], [], [], left)
            if not self._read_reports():
                return False
        self._seen.pop(number, None)
        return True

    def _read_reports(self) -> bool:
        """False if there is no witness any more."""
        try:
            data = os.read(self._reports, 64 * _SEEN.size)
        except BlockingIOError:
            return True
        self._seen.update(_SEEN.iter_unpack(data))
        return bool(data)

    def _stop_here(self) -> None:
        """Ctrl-Z for the launcher: the shell waits for it to stop."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._arrived)


def _start_witness(
    out: int, signals: Sequence[int]
) -> "subprocess.Popen[bytes] | None":
    arguments = map(str, (out, os.getpid(), *map(int, signals)))
    # It inherits this, so that no signal comes too early for it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WITNESS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=(out,),
        )
    except OSError:
        # Signals that come to all then reach the program twice.
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def die_by(number: int) -> None:
    """Ends this process by a signal. Returns where that cannot be: as process 1."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        signal.raise_signal(number)
