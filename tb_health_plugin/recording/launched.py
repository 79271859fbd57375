"""Runs a program as Python would, with its recording begun before its first line.

`tb-health run` starts this in a process of its own. What the program can see of itself
(arguments, path, `__main__`, tracebacks, how it ends) is as without us.
"""

import contextlib
import ctypes
import importlib.util
import marshal
import os
import pkgutil
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from tb_health_plugin.recording import keras_pickup, process_end, this_process
from tb_health_plugin.recording.attempts import attempt_for
from tb_health_plugin.recording.guard import warn

# From linux/prctl.h.
_PR_SET_PDEATHSIG = 1
# In front of the code in a compiled file: magic number, flags and two more words.
_COMPILED_HEAD_BYTES = 16
# Starting a process takes milliseconds; a program may end as soon as it begins.
_WATCHED_WITHIN_SECONDS = 1.0
# Whose frames stand above the program's: the launcher's line of code, and this file.
_ABOVE = ("<string>", __file__)
# Files of ours that the program's calls pass through.
_OURS = f"{Path(__file__).parent}{os.sep}"


def main(
    logdir: str,
    kept_output: str,
    launcher_pid: int,
    program: Sequence[str],
    *,
    in_graphs: bool = False,
) -> None:
    """Records into `logdir` and runs `program`: `["train.py", …]` or `["-m", …]`."""
    _die_with(launcher_pid)
    module = program[0] == "-m"
    sys.argv = list(program[1:] if module else program)
    sys.orig_argv = [*sys.orig_argv[: sys.orig_argv.index("-c")], *program]
    _start_recording(Path(os.path.abspath(logdir)), kept_output, in_graphs=in_graphs)
    # The main module of before must live on: its code is still running.
    before, sys.modules["__main__"] = sys.modules["__main__"], _new_main()
    try:
        if module:
            _run_module(sys.argv[0])
        else:
            _run_file(sys.argv[0])
    except SystemExit:
        raise
    except BaseException as error:
        trace = _without_ours(error.__traceback__)
        with contextlib.suppress(Exception):
            process_end.ended_by_exception(error, trace)
        sys.excepthook = _ShowWithoutUs(sys.excepthook)
        raise
    finally:
        del before


def _start_recording(logdir: Path, kept_output: str, *, in_graphs: bool) -> None:
    try:
        this_process.started_by_launcher(kept_output)
        attempt = attempt_for(logdir)
        attempt.recorder.wait_until_watched(_WATCHED_WITHIN_SECONDS)
        keras_pickup.pick_up_keras(attempt, logdir, in_graphs=in_graphs)
    except Exception as error:  # noqa: BLE001 - the program runs without a recording
        warn("anything", f"{type(error).__name__}: {error}")


def _die_with(launcher_pid: int) -> None:
    """A SIGKILL for the launcher is meant for the program."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != launcher_pid:
            os.kill(os.getpid(), signal.SIGKILL)


def _new_main() -> ModuleType:
    """A main module as Python makes it before it reads a program."""
    made = ModuleType("__main__")
    for name, value in vars(sys.modules["__main__"]).items():
        if name.startswith("__") and name != "__annotations__":
            setattr(made, name, value)
    made.__annotations__ = {}
    return made


def _run_module(name: str) -> None:
    _prepend_to_path(str(Path.cwd()))
    # Python has this name there while it looks for the module.
    sys.argv[0] = "-m"
    # Private, but `python -m` itself calls it: the same frames, the same errors.
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]


def _run_file(path: str) -> None:
    # Made absolute as Python does it: nothing is resolved.
    file = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    if pkgutil.get_importer(file) is not None:
        # A directory or an archive with a __main__.py in it.
        _prepend_to_path(file)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        return
    _prepend_to_path(str(Path(os.path.realpath(path)).parent))
    module = vars(sys.modules["__main__"])
    module["__file__"] = file
    module["__cached__"] = None
    module["__loader__"] = SourceFileLoader("__main__", file)
    exec(_code(file), module)


def _prepend_to_path(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path.insert(0, folder)


def _code(file: str) -> CodeType:
    data = Path(file).read_bytes()
    if data.startswith(importlib.util.MAGIC_NUMBER):
        compiled: CodeType = marshal.loads(data[_COMPILED_HEAD_BYTES:])
        return compiled
    return compile(data, file, "exec", dont_inherit=True)


class _ShowWithoutUs:
    """Shows an exception the way the program chose, without frames of ours."""

    def __init__(self, show: Callable[..., Any]) -> None:
        self._show = show

    def __call__(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        trace = _without_ours(trace)
        # Python shows the one that the exception carries.
        error.__traceback__ = trace
        sys.last_traceback = trace
        self._show(kind, error, trace)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and _file(trace) in _ABOVE:
        trace = trace.tb_next
    # Within the program, we stood in front of `fit` and of optimizers.
    one = trace
    while one is not None:
        while one.tb_next is not None and _file(one.tb_next).startswith(_OURS):
            one.tb_next = one.tb_next.tb_next
        one = one.tb_next
    return trace


def _file(trace: TracebackType) -> str:
    return trace.tb_frame.f_code.co_filename
