"""What is known about the process that trains, before it trains."""

import importlib.metadata
import platform
import socket
import sys
from pathlib import Path

# The 22nd field of /proc/<pid>/stat, counted behind the name in brackets.
_START_TICKS = 19
_PACKAGES = ("tensorboard-plugin-health", "tensorflow", "keras", "tensorboard")


def host() -> str:
    return socket.gethostname()


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


def program() -> str:
    """The program without its arguments: they may hold secrets."""
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "interactive"


def settings() -> dict[str, str]:
    """Versions that help to compare two runs."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
