"""A small Keras training with our callback and Keras' own in one directory.

python small_training.py LOGDIR [--killed-at-step=N]
"""

import argparse
import os
import signal
import time

import keras
import numpy as np

from tb_health_plugin import HealthCallback

EPOCHS, STEPS, BATCH = 4, 50, 16
PERIOD_SECONDS = 0.05
# A step this long lets several samples fall into every epoch.
STEP_SECONDS = 0.01


class SlowSteps(keras.callbacks.Callback):
    """Makes steps last, and ends the process without a word at one of them."""

    def __init__(self, killed_at_step: int | None) -> None:
        super().__init__()
        self._killed_at_step = killed_at_step
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        time.sleep(STEP_SECONDS)
        self._steps += 1
        if self._steps == self._killed_at_step:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--killed-at-step", type=int)
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    x = rng.normal(size=(STEPS * BATCH, 8)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        x,
        y,
        batch_size=BATCH,
        epochs=EPOCHS,
        verbose=0,
        callbacks=[
            keras.callbacks.TensorBoard(options.logdir, write_graph=False),
            HealthCallback(options.logdir, period_seconds=PERIOD_SECONDS),
            SlowSteps(options.killed_at_step),
        ],
    )


if __name__ == "__main__":
    main()
