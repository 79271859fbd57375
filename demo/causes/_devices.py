"""A slow disk, or little memory and slow swap: real ones, for those who may make them.

Needs root and control groups; tried with version 1. All is taken away at the end.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def slow_disk(bytes_per_second: int, mebibytes: int = 256) -> Iterator[Path]:
    """A disk of its own that writes only so fast, for this process and its children."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        device = stack.enter_context(_loop(folder / "disk.img", mebibytes))
        _run("mkfs.ext4", "-q", device)
        disk = folder / "disk"
        disk.mkdir()
        # Every write waits for the disk, as on one that is shared over a network.
        _run("mount", "-o", "sync", device, str(disk))
        stack.callback(_patiently, "umount", str(disk))
        limit = f"{_number(device)} {bytes_per_second}"
        new = f"{_number(device)} wbps={bytes_per_second}"
        stack.enter_context(
            _group("blkio", {"blkio.throttle.write_bps_device": limit}, {"io.max": new})
        )
        yield disk


@contextlib.contextmanager
def swapping(
    memory_mebibytes: int, reads_per_second: int, swap_mebibytes: int = 1_024
) -> Iterator[None]:
    """So much memory for this process and its children; the rest is on a slow disk."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        device = stack.enter_context(_loop(folder / "swap.img", swap_mebibytes))
        _run("mkswap", "-q", device)
        _run("swapon", device)
        stack.callback(_patiently, "swapoff", device)
        limit = f"{_number(device)} {reads_per_second}"
        new = f"{_number(device)} riops={reads_per_second}"
        stack.enter_context(
            _group("blkio", {"blkio.throttle.read_iops_device": limit}, {"io.max": new})
        )
        held = str(memory_mebibytes << 20)
        stack.enter_context(
            _group("memory", {"memory.limit_in_bytes": held}, {"memory.max": held})
        )
        yield


@contextlib.contextmanager
def _loop(file: Path, mebibytes: int) -> Iterator[str]:
    """A block device that is a file."""
    with file.open("wb") as image:
        image.truncate(mebibytes << 20)
    device = _run("losetup", "--find", "--show", str(file)).strip()
    try:
        yield device
    finally:
        _run("losetup", "--detach", device)


@contextlib.contextmanager
def _group(controller: str, old: dict[str, str], new: dict[str, str]) -> Iterator[None]:
    """This process in a control group of its own; it goes back at the end."""
    is_old = (_GROUPS / controller).is_dir()
    parent = _GROUPS / controller if is_old else _GROUPS
    group = parent / f"training-health-demo-{os.getpid()}"
    group.mkdir()
    try:
        for name, value in (old if is_old else new).items():
            (group / name).write_text(value)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (parent / "cgroup.procs").write_text(str(os.getpid()))
        # The watcher is in it, too, and leaves a moment after the training.
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (parent / "cgroup.procs").write_text(pid)
        group.rmdir()


def _number(device: str) -> str:
    made = os.stat(device).st_rdev
    return f"{os.major(made)}:{os.minor(made)}"


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _patiently(*command: str) -> None:
    """The watcher may hold a file there a moment longer."""
    for _ in range(50):
        if subprocess.run(command, check=False).returncode == 0:
            return
        time.sleep(0.2)
