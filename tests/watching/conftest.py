"""Runs trainers, and reads what their watchers wrote."""

import contextlib
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt

ROOT = Path(__file__).parents[2]


def command(logdir: Path, ending: str) -> list[str]:
    return [sys.executable, "-m", "tests.watching.trainer", str(logdir), ending]


def read(logdir: Path) -> Attempt:
    """The attempt that was begun last."""
    directory = max((logdir / "plugins/health").iterdir())
    reader = AttemptReader(directory)
    reader.refresh()
    assert reader.problems == []
    return reader.attempt


def wait_for_end(logdir: Path) -> Attempt:
    """The attempt once the watcher has written how the process ended."""
    wait_until(lambda: read(logdir).last(facts.ProcessEnded))
    return read(logdir)


def watchers(logdir: Path) -> list[int]:
    """Watchers that have files open below this log directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"tb_health_plugin.watching" not in path.read_bytes():
                continue
            links = [str(fd.readlink()) for fd in (path.parent / "fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(str(logdir)) for link in links):
            found.append(int(path.parent.name))
    return found


def zombies() -> set[int]:
    """Pythons that have ended and that nobody has cleaned up after."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            if name.startswith("python") and rest.split()[0] == "Z":
                found.add(int(path.parent.name))
    return found


@contextlib.contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """A control group with so much memory; skips the test where none can be made."""
    group = Path("/sys/fs/cgroup/memory") / f"tb_health_{secrets.token_hex(4)}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
    except OSError as error:
        pytest.skip(f"no memory cgroup (v1) can be made here: {error}")
    yield group
    wait_until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


Ran = tuple[Attempt, "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], Ran]:
    """Lets a trainer end in some way and reads what was recorded."""

    def start(ending: str) -> Ran:
        done = subprocess.run(
            command(tmp_path, ending), capture_output=True, cwd=ROOT, check=False
        )
        return wait_for_end(tmp_path), done

    return start
