"""One sentence on the terminal, and only where there is one."""

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.watching.closing_words import say_the_end
from tb_health_plugin.writing.terms import Terms
from tests.watching.conftest import ROOT, command, wait_for_end


def terms(terminal: str) -> Terms:
    return Terms(
        pid=1,
        logdir="/logs/run",
        directory="/logs/run/plugins/health/a",
        period_seconds=1.0,
        start={},
        terminal=terminal,
    )


@pytest.fixture
def terminal():
    """Both ends of a terminal: ours, and the program's."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def shown(ours: int) -> str:
    try:
        return os.read(ours, 65_536).decode()
    except BlockingIOError:
        return ""


def test_the_signal_the_step_and_where_to_look(terminal: tuple[int, int]):
    ours, theirs = terminal

    say_the_end(terms(os.ttyname(theirs)), signal.SIGKILL, 1_234)

    assert shown(ours).split("\r\n") == [
        "",
        "Training Health: the training was ended by SIGKILL at step 1,234.",
        "To see what led to it: tensorboard --logdir /logs/run",
        "",
    ]


@pytest.mark.parametrize("path", ["", "/dev/pts/none"])
def test_without_a_terminal_nothing_happens(path: str):
    say_the_end(terms(path), signal.SIGKILL, 1)


@pytest.mark.live
@pytest.mark.parametrize(("ending", "said"), [("SIGKILL", True), ("finished", False)])
def test_a_real_end_on_a_real_terminal(
    tmp_path: Path, terminal: tuple[int, int], ending: str, said: bool
):
    ours, theirs = terminal
    subprocess.run(
        command(tmp_path, ending),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=ROOT,
        check=False,
    )
    wait_for_end(tmp_path)

    if said:
        assert "ended by SIGKILL" in wait_until(lambda: shown(ours))
    else:
        assert shown(ours) == ""
