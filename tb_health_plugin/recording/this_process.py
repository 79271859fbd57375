"""What is known about the process that trains, before it trains."""

import builtins
import importlib.metadata
import os
import platform
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

from tb_health_plugin.recording.environment import environment_settings
from tb_health_plugin.recording.git_commit import git_commit
from tb_health_plugin.recording.time_limits import limit_settings
from tb_health_plugin.recording.worker import worker_settings

# The 22nd field of /proc/<pid>/stat, counted behind the name in brackets.
_START_TICKS = 19
_PACKAGES = ("tensorboard-plugin-health", "tensorflow", "keras", "tensorboard")

# What the launcher told us about itself; None if it did not start this process.
_kept_output: str | None = None


def started_by_launcher(kept_output: str) -> None:
    """The launcher tells the end, and keeps the tail of standard error.

    Args:
        kept_output: Where it keeps that; empty if standard error is left alone.
    """
    global _kept_output
    _kept_output = kept_output


def start_fields(now: float) -> dict[str, Any]:
    """What this process knows of itself, as fields of `facts.RunStarted`."""
    pid = os.getpid()
    return {
        "wall_time": now,
        "host": socket.gethostname(),
        "pid": pid,
        "process_start_ticks": start_ticks(pid),
        "boot_id": boot_id(),
        "program": program(),
        "settings": settings(),
    }


def boot_id(root: Path = Path("/")) -> str | None:
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def start_ticks(pid: int, root: Path = Path("/")) -> int | None:
    """When the process started, in ticks since boot; None where nobody tells."""
    try:
        text = (root / f"proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return int(text[text.rindex(")") + 2 :].split()[_START_TICKS])


def terminal() -> str:
    """The terminal to say the end to; empty if there is none, or others say it."""
    if _kept_output is not None:
        return ""
    try:
        return os.ttyname(2)
    except OSError:
        return ""


def output_file() -> str:
    """The file that standard error goes to; empty if it is none."""
    if _kept_output:
        return _kept_output
    try:
        path = Path("/proc/self/fd/2").readlink()
        return str(path) if stat.S_ISREG(os.fstat(2).st_mode) else ""
    except OSError:
        return ""


def is_interactive() -> bool:
    """Somebody types into it: a notebook, a shell, `python -i`."""
    return (
        hasattr(sys, "ps1")
        or bool(sys.flags.interactive)
        or "get_ipython" in vars(builtins)
    )


def program() -> str:
    """The program without its arguments: they may hold secrets."""
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "interactive"


def settings() -> dict[str, str]:
    """Versions and surroundings that help to compare two runs."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    commit = git_commit(_program_directory())
    if commit is not None:
        found["git_commit"] = commit
    return (
        found
        | environment_settings(os.environ)
        | worker_settings(os.environ)
        | limit_settings(os.environ, now=time.time())
    )


def _program_directory() -> Path:
    """Where the program is; an interactive one is where it was started."""
    script = Path(sys.argv[0] if sys.argv else "")
    return (script.parent if script.is_file() else Path()).absolute()
