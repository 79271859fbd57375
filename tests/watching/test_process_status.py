"""How a process ended, seen by one that is not its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin.watching import process_status
from tb_health_plugin.watching.process_status import Status, WatchedProcess

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="this system has no pidfd"
)


@pytest.fixture
def child():
    """A child that does what it is told on its standard input."""
    made = subprocess.Popen(
        [sys.executable, "-c", "import os, sys; exec(sys.stdin.read())"],
        stdin=subprocess.PIPE,
    )
    yield made
    made.kill()
    made.communicate()


def watch(child: "subprocess.Popen[bytes]", *, pidfd: bool = True) -> WatchedProcess:
    return WatchedProcess(child.pid, os.pidfd_open(child.pid) if pidfd else -1)


def tell(child: "subprocess.Popen[bytes]", code: str) -> None:
    child.stdin.write(code.encode())
    child.stdin.close()
    child.stdin = None


def test_a_living_process_has_not_ended(child):
    assert not watch(child).wait(0)
    assert not watch(child, pidfd=False).wait(0)


@pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "proc"])
class TestBeforeItIsReaped:
    def test_an_exit_status(self, child, pidfd: bool):
        watched = watch(child, pidfd=pidfd)
        tell(child, "os._exit(7)")
        while not watched.wait(1.0):
            pass

        assert watched.status() == Status(7, None, "zombie")

    def test_a_signal(self, child, pidfd: bool):
        watched = watch(child, pidfd=pidfd)
        child.send_signal(signal.SIGKILL)
        while not watched.wait(1.0):
            pass

        assert watched.status() == Status(None, signal.SIGKILL, "zombie")


class TestAfterItWasReaped:
    def reaped(self, child, *, pidfd: bool) -> Status:
        watched = watch(child, pidfd=pidfd)
        tell(child, "os._exit(7)")
        child.wait()
        return watched.status()

    def test_a_pidfd_still_knows_where_the_kernel_is_new_enough(self, child):
        status = self.reaped(child, pidfd=True)

        kernel = tuple(map(int, os.uname().release.split(".")[:2]))
        expected = Status(7, None, "pidfd") if kernel >= (6, 15) else None
        assert status == (expected or Status(None, None, "gone"))

    def test_without_one_nobody_knows(self, child):
        assert self.reaped(child, pidfd=False) == Status(None, None, "gone")


def test_a_process_that_is_reaped_between_two_looks(child, monkeypatch):
    """The race that was seen: no pidfd answer yet, and no zombie any more."""
    answers = iter([None, 7 << 8])
    monkeypatch.setattr(process_status, "_ask_pidfd", lambda fd: next(answers))

    watched = WatchedProcess(2**22 + 1, 0)

    assert watched.status() == Status(7, None, "pidfd")


def test_without_proc_there_is_no_status(tmp_path: Path):
    assert WatchedProcess(1, -1, root=tmp_path).status() == Status(None, None, "gone")
