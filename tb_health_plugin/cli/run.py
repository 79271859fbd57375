"""`tb-health run train.py …`: records a program without a change to it.

The launcher is the parent of the program, so that it sees exactly how that ended and
ends in the same way. It never imports TensorFlow.
"""

import argparse
import contextlib
import importlib
import os
import resource
import select
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import tb_health_plugin
from tb_health_plugin.cli.signal_relay import SignalRelay, die_by
from tb_health_plugin.cli.stderr_copy import StderrCopy, stderr_copy
from tb_health_plugin.diagnosis.endings import name_of
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, is_remote
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.run_history import Attempt

USAGE_ERROR = 2
# What shells say for "ended by signal n" where no signal can be shown.
_SIGNAL_STATUS = 128

# The watcher writes the end within milliseconds, and later on a machine under load.
# For words on a failure it is worth waiting; a program that went well ends at once.
_FAILURE_WRITTEN_SECONDS = 10.0
_SUCCESS_WRITTEN_SECONDS = 1.0
# It writes every second. One that was silent for so long is stopped or gone.
_SILENT_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 0.02
# Where the system cannot wait for output and for the end at the same time.
_LOOK_FOR_END_MILLISECONDS = 50

# Nothing of the current folder may be imported in place of what we need, so it leaves
# the path first. The launched part puts there what Python would.
_BOOT = (
    "import sys; "
    "getattr(sys.flags, 'safe_path', sys.flags.isolated) or sys.path.pop(0); "
    "root, logdir, output, pid, inside, *program = sys.argv[1:]; "
    "there = root in sys.path; "
    "there or sys.path.append(root); "
    "from tb_health_plugin.recording.launched import main; "
    "there or sys.path.remove(root); "
    "main(logdir, output, int(pid), program, in_graphs=inside == 'inside')"
)


class CannotStart(Exception):
    """The program cannot be started; the message is for the user."""


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and from the program on those that are none of our business.

    Args:
        arguments: Everything behind `run`.
    """
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] == "-m":
            break
        if arguments[at] == "--":
            return list(arguments[:at]), list(arguments[at + 1 :])
        at += 2 if arguments[at] == "--logdir" else 1
    return list(arguments[:at]), list(arguments[at:])


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "run",
        usage="tb-health run [--logdir DIR] [--gradients] [--quiet] "
        "(PROGRAM | -m MODULE) ...",
        help="run a Python program and record it, without a change to it",
        description=(
            "Runs a Python program as `python PROGRAM ...` would. Every Keras fit() in "
            "it is recorded, and how the program ends."
        ),
    )
    parser.add_argument(
        "--logdir",
        help="where to record (default: logs/PROGRAM-DATE-TIME)",
    )
    parser.add_argument(
        "--gradients",
        action="store_true",
        help="measure loss and gradients inside of a tf.function of hand-written "
        "loops, too: puts a few operations into it",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="say nothing when the program ends badly"
    )


def run(
    program: Sequence[str],
    *,
    logdir: str | None,
    quiet: bool,
    gradients: bool = False,
) -> int:
    """Runs the program; returns its exit status, or ends by its signal.

    Raises:
        CannotStart: There is no such program, or nothing can be recorded.
    """
    name = _check(program)
    directory, shown = _make_logdir(logdir, name)
    copy = stderr_copy()
    relay = SignalRelay(copy.resize if copy else lambda: None)
    pid = _start(program, directory, copy, relay, gradients=gradients)
    ended = _wait(pid, copy, relay)
    if copy is not None:
        copy.copy_the_rest()
    failed = ended.si_code != os.CLD_EXITED or ended.si_status != 0
    attempt = _recorded_attempt(
        directory,
        pid,
        _FAILURE_WRITTEN_SECONDS if failed and not quiet else _SUCCESS_WRITTEN_SECONDS,
    )
    relay.stop()
    os.waitpid(pid, 0)
    if copy is not None and not copy.at_end:
        _copy_for_those_left(copy)
    if attempt is not None and not quiet:
        _tell_a_bad_end(attempt, shown, ended)
    if ended.si_code == os.CLD_EXITED:
        return ended.si_status
    # The program has left its core already; one of the launcher helps nobody.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    die_by(ended.si_status)
    return _SIGNAL_STATUS + ended.si_status


def _check(program: Sequence[str]) -> str:
    """A name for the program, if there is one to start."""
    if not sys.executable:
        raise CannotStart("this Python does not know where it is installed")
    if not program or program == ["-m"]:
        raise CannotStart("which program? Try: tb-health run train.py")
    if program[0] == "-m":
        return program[1]
    path = Path(program[0])
    if not path.exists():
        raise CannotStart(f"there is no program {program[0]}")
    return path.resolve().stem


def _make_logdir(given: str | None, name: str) -> tuple[Path, str]:
    """The directory, and how to name it to the user."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    shown = given if given is not None else f"logs/{name}-{stamp}"
    if is_remote(shown):
        raise CannotStart(
            f"nothing can be recorded in {shown}: it is on an object store. Pass "
            "--logdir with a directory of this machine, and copy it there."
        )
    directory = Path(os.path.abspath(Path(shown).expanduser()))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"nothing can be recorded in {shown}: {error.strerror}. "
            "Pass --logdir with a directory this user may write to."
        ) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise CannotStart(
            f"nothing can be recorded in {shown}: it may not be written to. "
            "Pass --logdir with a directory this user may write to."
        )
    return directory, shown


def _start(
    program: Sequence[str],
    logdir: Path,
    copy: StderrCopy | None,
    relay: SignalRelay,
    *,
    gradients: bool,
) -> int:
    root = str(Path(tb_health_plugin.__file__).parent.parent)
    output = copy.tail.path if copy else ""
    command = [
        sys.executable,
        *_interpreter_options(),
        *("-c", _BOOT, root, str(logdir), output, str(os.getpid())),
        "inside" if gradients else "",
        *program,
    ]
    actions = [(os.POSIX_SPAWN_DUP2, copy.program_end, 2)] if copy else []
    pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
    if copy is not None:
        copy.begin()
    relay.begin(pid)
    return pid


def _interpreter_options() -> list[str]:
    """Those of `python OPTIONS -m tb_health_plugin run …`: meant for the program.

    The first line of an installed script may have some as well, but they are not the
    user's.
    """
    given = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    return given[:-2] if given[-2:-1] == ["-m"] else []


def _wait(pid: int, copy: StderrCopy | None, relay: SignalRelay) -> "os.waitid_result":
    """Hands output on until the program ends. Leaves it for the watcher to look at."""
    process_fd = _open_process(pid)
    poll = select.poll()
    poll.register(relay.arrivals, select.POLLIN)
    if process_fd >= 0:
        poll.register(process_fd, select.POLLIN)
    if copy is not None:
        poll.register(copy.our_end, select.POLLIN)
    while True:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is not None:
            return ended
        for fd, _ in poll.poll(None if process_fd >= 0 else _LOOK_FOR_END_MILLISECONDS):
            if fd == relay.arrivals:
                relay.look()
            elif copy is not None and fd == copy.our_end:
                copy.copy_some()
                if copy.at_end:
                    poll.unregister(fd)


def _open_process(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _copy_for_those_left(copy: StderrCopy) -> None:
    """Children that outlive the program may still write: somebody has to read."""
    with warnings.catch_warnings():
        # Python counts threads of libraries; none of ours is needed after the fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        if os.fork():
            return
    try:
        # They may have left these two, and whoever reads them waits for the end.
        os.close(0)
        os.close(1)
        while not copy.at_end:
            copy.copy_some()
    finally:
        os._exit(0)


def _recorded_attempt(logdir: Path, pid: int, patience: float) -> Attempt | None:
    """What was recorded, once the watcher has written the end; None if nothing was.

    Args:
        logdir: The log directory.
        pid: The process that has ended.
        patience: For how many seconds to wait for it, if there is hope.
    """
    directory = next(_attempts_of(logdir, pid), None)
    if directory is None:
        return None
    reader = AttemptReader(directory)
    reader.refresh()
    if time.time() - (reader.attempt.last_seen_at or 0.0) > _SILENT_SECONDS:
        patience = min(patience, _SUCCESS_WRITTEN_SECONDS)
    deadline = time.monotonic() + patience
    while not _is_told(reader.attempt) and time.monotonic() <= deadline:
        time.sleep(_LOOK_AGAIN_SECONDS)
        reader.refresh()
    return reader.attempt


def _is_told(attempt: Attempt) -> bool:
    """The end is written, or nobody is there to write it after the program."""
    by_thread = attempt.start is not None and attempt.start.recorded_by == "thread"
    return by_thread or attempt.last(facts.ProcessEnded) is not None


def _attempts_of(logdir: Path, pid: int) -> Iterator[Path]:
    """Directories of this process, by the number before the end of their names."""
    with contextlib.suppress(OSError):
        for path in sorted((logdir / HEALTH_DIRECTORY).iterdir(), reverse=True):
            if path.name.split("-")[-2:-1] == [str(pid)]:
                yield path


def _tell_a_bad_end(attempt: Attempt, logdir: str, ended: "os.waitid_result") -> None:
    if _is_told(attempt) or attempt.last(facts.RunEnded) is not None:
        story = tell(attempt, life_of(attempt, time.time()))
        if story.severity == "info" and attempt.all(facts.FirstBadNumber):
            # It looks well to whoever started it, and is worth nothing. All rules take
            # a while to load, which every other program is spared.
            engine = importlib.import_module("tb_health_plugin.diagnosis.engine")
            story = engine.judge(attempt, life_of(attempt, time.time()))
        if story.severity == "info":
            return
        headline = story.headline
    elif ended.si_code != os.CLD_EXITED or ended.si_status != 0:
        # What is known for certain; the record has the rest, once it is written.
        headline = f"The program ended with {_words(ended)}"
    else:
        return
    with contextlib.suppress(OSError):
        sys.stderr.write(
            f"\ntb-health: {headline}.\n"
            f"What led to it: tb-health why {shlex.quote(logdir)}\n"
            f"or, as a page: tensorboard --logdir {shlex.quote(logdir)}\n"
        )
        sys.stderr.flush()


def _words(ended: "os.waitid_result") -> str:
    if ended.si_code == os.CLD_EXITED:
        return f"status {ended.si_status}"
    return name_of(ended.si_status)
