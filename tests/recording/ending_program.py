"""A program that trains and ends in some way.

python -m tests.recording.ending_program LOGDIR ENDING
"""

import sys

import keras
import numpy as np

from tb_health_plugin.recording.keras_callback import HealthCallback

X, Y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")


class Ends(keras.callbacks.Callback):
    """Raises in the sixth step."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def on_train_batch_end(self, batch, logs=None):
        if batch != 5:
            return
        if self.ending in ("exit", "caught_exit"):
            sys.exit(7)
        if self.ending == "exit_0":
            sys.exit(0)
        if self.ending == "exit_text":
            sys.exit("enough")
        if self.ending == "interrupt":
            raise KeyboardInterrupt
        if self.ending == "exception":
            raise ValueError("bad")


def batches():
    for number in range(100):
        if number == 12:
            raise OSError("disk gone")
        yield X[:8], Y[:8]


def main(logdir: str, ending: str) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callbacks = [Ends(ending), HealthCallback(logdir, watcher=False)]
    if ending == "data":
        model.fit(batches(), steps_per_epoch=50, verbose=0, callbacks=callbacks)
    try:
        model.fit(X, Y, batch_size=8, verbose=0, callbacks=callbacks)
    except SystemExit:
        if ending != "caught_exit":
            raise
    if ending == "exit_text_after":
        sys.exit("enough")


if __name__ == "__main__":
    main(*sys.argv[1:])
