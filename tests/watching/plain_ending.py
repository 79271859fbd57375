"""A program that knows nothing of us, and ends in any way one likes.

python tests/watching/plain_ending.py ENDING
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path


def main(ending: str) -> None:
    group = os.environ.get("TB_HEALTH_TEST_GROUP")
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
    # Long enough for the watcher to be there.
    time.sleep(0.5)
    if ending == "exception":
        raise ValueError("bad batch")
    if ending == "sys_exit":
        sys.exit(7)
    if ending == "os_exit":
        os._exit(3)
    if ending == "interrupt":
        raise KeyboardInterrupt
    if ending == "segfault":
        ctypes.string_at(0)
    if ending == "abort":
        os.abort()
    if ending == "out_of_memory":
        hoard = []
        while True:
            hoard.append(os.urandom(1 << 20))
            time.sleep(0.001)
    if ending in ("time_limit", "killed_together"):
        time.sleep(600)
    while ending == "cpu_limit":
        pass
    if ending != "finished":
        os.kill(os.getpid(), signal.Signals[ending])


if __name__ == "__main__":
    main(*sys.argv[1:])
