"""Writes scalars without end into the run directory that a busy recorder writes to.

python scalars_beside_health.py LOGDIR

Ends when its standard input does; its last line is the last step it wrote.
"""

import sys
import threading
import time
from pathlib import Path

import tensorflow as tf

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.recording.recorder import Recorder

PERIOD_SECONDS = 0.005
STEP_SECONDS = 0.01


def main(logdir: Path) -> None:
    enough = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), enough.set())).start()
    recorder = Recorder(
        logdir, new_attempt_directory(logdir), period_seconds=PERIOD_SECONDS
    )
    writer = tf.summary.create_file_writer(str(logdir), flush_millis=100)
    step = 0
    with writer.as_default():
        while not enough.wait(STEP_SECONDS):
            step += 1
            recorder.progress.step = step
            recorder.publish()
            recorder.record(facts.Incident(wall_time=time.time(), step=step, kind="x"))
            tf.summary.scalar("mine", float(step), step=step)
    writer.close()
    recorder.close(facts.RunEnded(wall_time=time.time(), step=step, reason="finished"))
    sys.stdout.write(f"{step}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
