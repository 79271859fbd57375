"""A program that knows nothing of us, and ends in any way one likes.

python tests/watching/plain_ending.py ENDING
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

RAISED = {"exception": ValueError("bad batch"), "interrupt": KeyboardInterrupt()}


def lose_a_worker() -> None:
    """A child that lives for a while and is killed, as a worker for data may be."""
    child = os.fork()
    if not child:
        time.sleep(600)
    # Those that live for less than five seconds may be missed.
    time.sleep(8)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    time.sleep(2)


def main(ending: str) -> None:
    group = os.environ.get("TB_HEALTH_TEST_GROUP")
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
    # Long enough for the watcher to be there.
    time.sleep(0.5)
    if ending in RAISED:
        raise RAISED[ending]
    if ending == "sys_exit":
        sys.exit(7)
    if ending == "os_exit":
        os._exit(3)
    if ending == "segfault":
        ctypes.string_at(0)
    if ending == "abort":
        os.abort()
    if ending == "out_of_memory":
        hoard = []
        while True:
            hoard.append(os.urandom(1 << 20))
            time.sleep(0.001)
    if ending == "worker_killed":
        lose_a_worker()
    if ending in ("time_limit", "killed_together", "machine_restarted"):
        time.sleep(600)
    while ending == "cpu_limit":
        pass
    if ending not in ("finished", "worker_killed"):
        os.kill(os.getpid(), signal.Signals[ending.split("_")[0]])


if __name__ == "__main__":
    main(*sys.argv[1:])
