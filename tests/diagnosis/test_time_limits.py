"""What gives a time limit to a call, by the stack that waits in it."""

import pytest

from tb_health_plugin.diagnosis.time_limits import limit_of, limit_or_code
from tb_health_plugin.events.python_stacks import Frame, Thread

PYTHON = "/usr/lib/python3.11"
OWN = Frame("/home/me/train.py", 60, "on_epoch_end")


def waiting(*files: str, own: Frame | None = OWN) -> Thread:
    """A thread that stands in these files, innermost first, called by `own`."""
    frames = [Frame(file, 1, "wait") for file in files]
    return Thread(is_current=True, frames=(*frames, *([own] if own else [])))


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            [
                f"{PYTHON}/socket.py",
                f"{PYTHON}/http/client.py",
                "/venv/lib/python3.11/site-packages/requests/api.py",
            ],
            "requests.get(url, timeout=60)",
        ),
        (
            [f"{PYTHON}/ssl.py", f"{PYTHON}/urllib/request.py"],
            "socket.setdefaulttimeout(60)",
        ),
        ([f"{PYTHON}/subprocess.py"], "subprocess.run(command, timeout=60)"),
        ([f"{PYTHON}/threading.py", f"{PYTHON}/queue.py"], "queue.get(timeout=60)"),
        (
            [f"{PYTHON}/threading.py", f"{PYTHON}/concurrent/futures/_base.py"],
            "future.result(timeout=60)",
        ),
        ([f"{PYTHON}/threading.py"], "lock.acquire(timeout=60)"),
    ],
)
def test_the_library_that_the_program_called_has_its_own(files: list[str], line: str):
    assert limit_of(waiting(*files)) == line


def test_code_that_waits_by_itself_is_shown():
    assert limit_of(waiting()) is None
    assert limit_or_code(waiting()) == "cat -n /home/me/train.py | sed -n 55,65p"


@pytest.mark.parametrize("thread", [None, waiting(f"{PYTHON}/queue.py", own=None)])
def test_without_a_line_of_the_program_nothing_is_said(thread: Thread | None):
    assert limit_of(thread) is None
    assert limit_or_code(thread) is None
