"""Runs a script again where it may mount a small disk that nobody else sees."""

import os
import subprocess
import sys
from pathlib import Path

_INSIDE = "TRAINING_HEALTH_DEMO_INSIDE"


def enter() -> None:
    """Goes on in a mount namespace of its own; what is mounted there ends with it."""
    if os.environ.get(_INSIDE):
        return
    os.environ[_INSIDE] = "1"
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *rights, "--mount", sys.executable, *sys.argv]
    os.execvp(command[0], command)


def small_disk(directory: Path, mebibytes: int) -> None:
    """Mounts a disk of that size, kept in memory."""
    directory.mkdir(parents=True, exist_ok=True)
    size = f"size={mebibytes}m"
    mount = ["mount", "-t", "tmpfs", "-o", size, "none", str(directory)]
    subprocess.run(mount, check=True)
