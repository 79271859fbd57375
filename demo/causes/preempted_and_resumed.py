"""A scheduler takes the machine away (SIGTERM); the job is started again and resumes.

python demo/causes/preempted_and_resumed.py logs/preempted_and_resumed
"""

import subprocess
import sys
import time
from pathlib import Path

TRAIN = "--train"


def train(logdir: str) -> None:
    import keras
    from _task import data, model

    from tb_health_plugin import HealthCallback

    x, y = data()
    resume = keras.callbacks.BackupAndRestore(f"{logdir}/backup")
    callbacks = [resume, HealthCallback(logdir)]
    model().fit(x, y, epochs=14, verbose=2, callbacks=callbacks)


def schedule(logdir: str) -> None:
    """Starts the training, takes its machine away, and starts it again."""
    command = [sys.executable, __file__, logdir, TRAIN]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in first.stdout:
        print(line, end="", flush=True)
        if line.startswith("Epoch 6/"):
            first.terminate()
    first.wait()
    time.sleep(3)
    subprocess.run(command, check=True)


def main(logdir: str, *what: str) -> None:
    Path(logdir).mkdir(parents=True, exist_ok=True)
    (train if TRAIN in what else schedule)(logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
