"""A callback works longer after each step than the step takes.

python demo/causes/slow_callback.py logs/slow_callback
"""

import sys
import time

import keras
from _classes import classifier, fit


class Sleepy(keras.callbacks.Callback):
    """Stands for plots, metrics or uploads after every batch."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)


def main(logdir: str) -> None:
    fit(classifier(), logdir, epochs=4, callbacks=[Sleepy()])


if __name__ == "__main__":
    main(*sys.argv[1:])
