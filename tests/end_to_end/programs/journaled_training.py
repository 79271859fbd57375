"""A Keras training without end that keeps a journal of what was recorded of it.

python journaled_training.py LOGDIR JOURNAL thread|watcher

Each line of the journal is handed to the operating system before anything else
happens, so that a SIGKILL cannot take it back:

    appended FILE HASH   a thread of this process has appended this event
    handed EPOCH         the recorder was given the end of this epoch
    step STEP            this step is done
"""

import hashlib
import os
import sys
import time

import keras
import numpy as np

from tb_health_plugin import HealthCallback
from tb_health_plugin.events.event_file import EventFile

STEPS, BATCH = 20, 4
STEP_SECONDS = 0.01
PERIOD_SECONDS = 0.05


class Journal(keras.callbacks.Callback):
    """Comes after our callback, so that its lines are true when they are written."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._step = 0

    def write(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def watch_appends(self) -> None:
        append_raw = EventFile.append_raw

        def append_and_write(file: EventFile, event: bytes, **options: bool) -> None:
            append_raw(file, event, **options)
            hashed = hashlib.sha256(event).hexdigest()
            self.write(f"appended {file.path.name} {hashed}")

        EventFile.append_raw = append_and_write

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        self._step += 1
        self.write(f"step {self._step}")
        time.sleep(STEP_SECONDS)

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.write(f"handed {epoch}")


def main(logdir: str, journal_path: str, writer: str) -> None:
    journal = Journal(journal_path)
    journal.watch_appends()
    x = np.ones((STEPS * BATCH, 2), "float32")
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    health = HealthCallback(
        logdir, period_seconds=PERIOD_SECONDS, watcher=writer == "watcher"
    )
    model.fit(
        x,
        x[:, :1],
        batch_size=BATCH,
        epochs=1_000_000,
        verbose=0,
        callbacks=[health, journal],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
