"""Looks closely at a trainer that stands still: its stacks, its state, its children.

`faulthandler` answers a signal from C, so that its stacks come even while native code
holds the interpreter. The signal would kill a process that has no handler for it:
it goes to the trainer alone, and only while the kernel says that one is installed.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tb_health_plugin.collectors.kernel_files import read
from tb_health_plugin.collectors.process_stat import descendants
from tb_health_plugin.events.python_stacks import parse, training_thread
from tb_health_plugin.watching.last_words import LastWords
from tb_health_plugin.watching.waits_for import Scene

# The answer takes milliseconds; a machine that swaps takes longer.
ANSWER_SECONDS = 2.0
# So long without more of it, and it is whole.
SETTLED_SECONDS = 0.1
# The trainer takes us for dead after 15 s, so all of py-spy must fit well into that.
PYSPY_SECONDS = 6.0
# More data loaders than that tell the same.
MOST_CHILDREN = 16
MOST_CHILDREN_BY_PYSPY = 4
# Fits into a fact together with the stacks of the trainer.
MOST_TEXT = 64 << 10
# A line is only looked for in files that a person wrote.
MOST_SOURCE_BYTES = 1 << 20

_POLL_SECONDS = 0.02
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting for a device",
    "T": "stopped",
    "t": "held by a debugger",
    "Z": "ended, not waited for",
    "I": "idle",
}
# Behind the name in /proc/<pid>/stat.
_STATE, _USER_TICKS, _SYSTEM_TICKS, _START_TICKS = 0, 11, 12, 19


class Trainer:
    """The trainer, seen from outside.

    Args:
        pid: Its process id.
        process_fd: A pidfd of it, or -1.
        start_ticks: When it started, to tell it from a later one; None if unknown.
        stacks_signal: The signal that it answers with its stacks; 0 for none.
        last_words: Where the answer goes.
        root: Stands in for `/` in tests.
    """

    def __init__(
        self,
        pid: int,
        process_fd: int,
        *,
        start_ticks: int | None,
        stacks_signal: int,
        last_words: LastWords,
        root: Path = Path("/"),
    ) -> None:
        self._pid = pid
        self._process_fd = process_fd
        self._start_ticks = start_ticks
        self._signal = stacks_signal
        self._last_words = last_words
        self._proc = root / "proc"

    def scene(self) -> Scene:
        """What can be seen of the trainer itself."""
        before = self._state()
        running = self._running()
        # A stopped process would answer later, in the middle of something else.
        is_stopped = before in ("T", "t")
        stacks = "" if is_stopped else self._python_stacks()
        after = self._state()
        # A device answers most of the time: one look in state D says little.
        state = "S" if "D" in (before, after) and before != after else after
        tracer = _number(self._status("TracerPid"))
        return Scene(
            state=state,
            tracer=tracer,
            stacks=stacks,
            code=_innermost_code(stacks),
            wchan=read(self._proc / f"{self._pid}/wchan").strip(),
            computes=bool(running & self._running()),
        )

    def text(self, scene: Scene) -> str:
        """The stacks of the trainer and its children, for people."""
        is_stopped = scene.state in ("T", "t")
        deadline = time.monotonic() + PYSPY_SECONDS
        # Attaching to a stopped process may wake it up.
        pyspy = None if is_stopped else _find_pyspy()
        children = descendants(self._proc, self._pid, leave_out=os.getpid())
        parts = [f"Python stacks of process {self._pid}, which trains\n"]
        parts.append(scene.stacks or self._why_no_stacks(is_stopped))
        parts.append(self._in_the_kernel())
        if pyspy:
            command = [pyspy, "dump", "--native", "--pid", str(self._pid)]
            parts.append(f"With native frames, by py-spy\n{_run(command, deadline)}")
        if children:
            parts.append(self._children(children, pyspy, deadline))
        return "\n".join(part.rstrip() + "\n" for part in parts)[:MOST_TEXT]

    def _python_stacks(self) -> str:
        """Asks for them; empty if they do not come."""
        if not self._can_be_asked():
            return ""
        self._last_words.ask()
        try:
            self._send()
        except OSError:
            return ""
        deadline = time.monotonic() + ANSWER_SECONDS
        seen, grew_at = "", time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            answer = self._last_words.answer()
            if answer != seen:
                seen, grew_at = answer, time.monotonic()
            elif answer and time.monotonic() - grew_at > SETTLED_SECONDS:
                break
        return self._last_words.take()

    def _can_be_asked(self) -> bool:
        if not self._signal:
            return False
        caught = int(self._status("SigCgt") or "0", 16)
        return bool(caught >> (self._signal - 1) & 1) and self._is_still_it()

    def _is_still_it(self) -> bool:
        fields = self._stat_fields()
        return bool(fields) and self._start_ticks in (None, int(fields[_START_TICKS]))

    def _send(self) -> None:
        if self._process_fd >= 0:
            signal.pidfd_send_signal(self._process_fd, self._signal)
        elif self._start_ticks is not None:
            os.kill(self._pid, self._signal)

    def _why_no_stacks(self, is_stopped: bool) -> str:
        if is_stopped:
            return "  (none: a stopped process cannot answer)"
        if not self._can_be_asked():
            return "  (none: it has no handler of ours that would write them)"
        return f"  (none: it did not answer within {ANSWER_SECONDS:.0f} seconds)"

    def _in_the_kernel(self) -> str:
        """What its threads do as the kernel sees them; many do the same."""
        threads = (self._proc / f"{self._pid}/task").glob("*")
        seen = Counter(_doing(thread) for thread in threads)
        lines = [f"  {count:,} {doing}" for doing, count in seen.most_common(12)]
        return "Its threads in the kernel\n" + "\n".join(lines)

    def _children(
        self, children: Sequence[int], pyspy: str | None, deadline: float
    ) -> str:
        lines = ["Processes that it started"]
        for pid in children[:MOST_CHILDREN]:
            lines.append(f"  {pid} {_doing(self._proc / str(pid))}")
        if len(children) > MOST_CHILDREN:
            lines.append(f"  and {len(children) - MOST_CHILDREN:,} more")
        if pyspy is None:
            lines.append("  (their Python stacks can be had if py-spy is installed)")
        for pid in children[:MOST_CHILDREN_BY_PYSPY] if pyspy else ():
            dump = _run([str(pyspy), "dump", "--pid", str(pid)], deadline)
            lines.append(f"\nProcess {pid}, by py-spy\n{dump}")
        return "\n".join(lines)

    def _state(self) -> str:
        fields = self._stat_fields()
        return fields[_STATE] if fields else ""

    def _running(self) -> set[str]:
        """Its threads that have a core, or wait for one."""
        tasks = (self._proc / f"{self._pid}/task").glob("*")
        return {
            task.name
            for task in tasks
            if read(task / "stat").rpartition(")")[2].split()[:1] == ["R"]
        }

    def _stat_fields(self) -> list[str]:
        return read(self._proc / f"{self._pid}/stat").rpartition(")")[2].split()

    def _status(self, name: str) -> str:
        for line in read(self._proc / f"{self._pid}/status").splitlines():
            if line.startswith(f"{name}:"):
                return line.partition(":")[2].strip()
        return ""


def _doing(folder: Path) -> str:
    """What a process or thread does, in a few words."""
    stat = read(folder / "stat")
    name = stat[stat.find("(") + 1 : stat.rfind(")")]
    fields = stat.rpartition(")")[2].split()
    if not fields:
        return "gone"
    words = f"{name}: {_STATES.get(fields[_STATE], fields[_STATE])}"
    place = read(folder / "wchan").strip()
    if place not in ("", "0"):
        words += f" in {place}"
    if folder.parent.name == "task":
        return words
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    return f"{words}, {ticks / os.sysconf('SC_CLK_TCK'):.0f} s of CPU so far"


def _innermost_code(stacks: str) -> str:
    """The text of the line at which the thread that trains stands."""
    thread = training_thread(parse(stacks))
    if thread is None or not thread.frames:
        return ""
    frame = thread.frames[0]
    path = Path(frame.file)
    try:
        if not path.is_file() or path.stat().st_size > MOST_SOURCE_BYTES:
            return ""
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""


def _find_pyspy() -> str | None:
    """Beside this Python, or where the system has its programs."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("py-spy", path=os.pathsep.join((beside, os.defpath)))


def _run(command: list[str], deadline: float) -> str:
    left = deadline - time.monotonic()
    if left <= 0:
        return "  (left out: the others took too long)"
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=left, check=False, text=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"  (py-spy failed: {error})"
    if done.returncode:
        return f"  (py-spy failed: {done.stderr.strip()[-200:]})"
    # The head has the command line, which may hold secrets.
    _, thread, rest = done.stdout.partition("\nThread ")
    return (thread + rest).lstrip() or "  (py-spy saw no thread of Python)"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
