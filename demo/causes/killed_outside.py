"""Somebody sends SIGKILL in the middle of an epoch, and the training says no word.

python demo/causes/killed_outside.py logs/killed
"""

import os
import signal
import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


class Somebody(keras.callbacks.Callback):
    """Stands in for whoever sends it: a scheduler, a colleague."""

    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) >= 400:
            os.kill(os.getpid(), signal.SIGKILL)


def main(logdir: str) -> None:
    x, y = data()
    callbacks = [HealthCallback(logdir), Somebody()]
    model().fit(x, y, epochs=10, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
