"""What gives a time limit to a call that waits, by what its stack stands in."""

import re

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.events.python_stacks import Thread

# The library that the program called, and its own way to give up. The first fits.
_LIMITS = (
    (re.compile(r"/requests/"), "requests.get(url, timeout=60)"),
    (
        re.compile(r"/(socket|ssl)\.py$|/(http|urllib)/|/(ftp|smtp)lib\.py$"),
        "socket.setdefaulttimeout(60)",
    ),
    (re.compile(r"/subprocess\.py$"), "subprocess.run(command, timeout=60)"),
    (re.compile(r"/concurrent/futures/"), "future.result(timeout=60)"),
    (re.compile(r"/(queue|multiprocessing/queues)\.py$"), "queue.get(timeout=60)"),
    (re.compile(r"/multiprocessing/connection\.py$"), "connection.poll(60)"),
    (
        re.compile(r"/(threading|multiprocessing/synchronize)\.py$"),
        "lock.acquire(timeout=60)",
    ),
)


def limit_of(thread: Thread | None) -> str | None:
    """The line for what the program's own code waits for; None if it is not known."""
    below = []
    for frame in thread.frames if thread else ():
        if not frame.is_library:
            break
        below.append(frame)
    else:
        return None
    # What the program itself called comes first; what that called in turn is not its.
    for frame in reversed(below):
        for pattern, line in _LIMITS:
            if pattern.search(frame.file):
                return line
    return None


def limit_or_code(thread: Thread | None) -> str | None:
    """The time limit, else the code that waits; None if neither is known."""
    frame = (
        next((f for f in thread.frames if not f.is_library), None) if thread else None
    )
    shown = own_code.shown(frame.file, frame.line) if frame else None
    return limit_of(thread) or shown
