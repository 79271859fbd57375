"""A loop without TensorFlow, and some ways to end it.

python -m tests.recording.loops.looping_trainer LOGDIR ENDING
"""

import os
import signal
import sys
import time

import tb_health_plugin

STEPS = 300


def main(logdir: str, ending: str) -> None:
    health = tb_health_plugin.watch(logdir, period_seconds=0.2)
    for step in range(STEPS):
        time.sleep(0.001)
        health.step(loss=1.0)
        # Said after it was published: what is said must be in the record.
        os.write(1, b"%d\n" % (step + 1))
    if ending == "finished":
        health.close()
    elif ending == "exception":
        raise ValueError("bad batch")
    elif ending == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
