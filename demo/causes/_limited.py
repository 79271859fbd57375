"""Runs a training as a child that may use only so much memory."""

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
# The watcher is in the group as well, and leaves it a moment after the training.
_EMPTY_WITHIN_SECONDS = 60.0


def run_limited(
    mebibytes: int, main: Callable[..., None], arguments: Sequence[str]
) -> None:
    """Calls `main` in a child with that limit; ends as the child ended."""
    group = _make_group(mebibytes << 20)
    child = os.fork()
    if not child:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_DATA, (mebibytes << 20,) * 2)
        main(*arguments)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    if group is not None:
        _remove(group)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.raise_signal(-code)
    sys.exit(code)


def _make_group(limit_bytes: int) -> Path | None:
    """A control group with that limit, version 1 or 2; None if we may not."""
    name = f"training-health-demo-{os.getpid()}"
    for parent, file in (
        (_CGROUPS / "memory", "memory.limit_in_bytes"),
        (_CGROUPS, "memory.max"),
    ):
        group = parent / name
        try:
            group.mkdir()
            (group / file).write_text(str(limit_bytes))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        with contextlib.suppress(OSError):
            (group / "memory.swap.max").write_text("0")
        return group
    return None


def _remove(group: Path) -> None:
    until = time.monotonic() + _EMPTY_WITHIN_SECONDS
    while group.exists() and time.monotonic() < until:
        with contextlib.suppress(OSError):
            group.rmdir()
        time.sleep(0.1)
