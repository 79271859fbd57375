"""Python stacks from signal handlers in C, into a file that outlives the trainer.

`faulthandler` writes the stacks of all threads even when the interpreter is stuck or
broken: at a crash in native code, at a polite request to end, and when the watcher
asks for them because nothing moves any more.
"""

import faulthandler
import os
import signal
import tempfile
from typing import IO

# Sent by the watcher to ask for stacks. Realtime signals have no meaning of their own.
STACKS_SIGNAL = getattr(signal, "SIGRTMIN", 0) + 9 if hasattr(signal, "SIGRTMIN") else 0

# Requests to end: noted, then handled as if we were not there.
_REQUESTS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class CrashStacks:
    """Where stacks go. One for the whole process.

    Attributes:
        fd: A file without a name that the watcher reads.
        at_a_crash: False if the program had set up faulthandler itself: then its own
            output is left as it is, and we see nothing.
        asked_by: The signal that is answered with stacks; 0 if none is.
    """

    def __init__(self, *, inherited: bool = False) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        os.set_inheritable(self._file.fileno(), False)
        self.fd = self._file.fileno()
        # In a forked child faulthandler is on because the parent's recording did it.
        self.at_a_crash = inherited or not faulthandler.is_enabled()
        if self.at_a_crash:
            faulthandler.enable(self._file, all_threads=True)
        self.asked_by = 0
        if not hasattr(faulthandler, "register"):
            return
        for number in _REQUESTS:
            # What is ignored (nohup) stays ignored; what has a handler keeps it.
            if signal.getsignal(number) != signal.SIG_IGN:
                self._register(number, chain=True)
        if STACKS_SIGNAL and signal.getsignal(STACKS_SIGNAL) == signal.SIG_DFL:
            self._register(STACKS_SIGNAL, chain=False)
            self.asked_by = int(STACKS_SIGNAL)

    def forget(self) -> None:
        """In a forked child: its crashes and signals are not the trainer's.

        Handlers stay, but write into nothing. Taking them away would take away what
        the program has set up since, too.
        """
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self.fd, inheritable=False)
        os.close(nothing)

    def _register(self, number: int, *, chain: bool) -> None:
        faulthandler.register(number, self._file, all_threads=True, chain=chain)


_made: CrashStacks | None = None
_parents: CrashStacks | None = None


def crash_stacks() -> CrashStacks:
    """The one of this process."""
    global _made
    if _made is None:
        _made = CrashStacks(inherited=_parents is not None and _parents.at_a_crash)
        if _parents is None:
            os.register_at_fork(after_in_child=_forget)
    return _made


def _forget() -> None:
    global _made, _parents
    if _made is not None:
        _made.forget()
        # Kept: the handlers in C still write to its file.
        _made, _parents = None, _made
