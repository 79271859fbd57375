"""A small Keras training with our callback and Keras' own in one directory.

python small_training.py LOGDIR [--killed-at-step=N]
"""

import argparse
import os
import signal

import keras
import numpy as np

from tb_health_plugin import HealthCallback

EPOCHS, STEPS, BATCH = 4, 50, 16
PERIOD_SECONDS = 0.05
# So wide that a step takes some milliseconds: several samples fall into every epoch.
UNITS = 2_048


class KilledFromOutside(keras.callbacks.Callback):
    """Ends the process without a word at one of its steps."""

    def __init__(self, killed_at_step: int | None) -> None:
        super().__init__()
        self._killed_at_step = killed_at_step
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
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
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(UNITS, activation="relu"),
            keras.layers.Dense(UNITS, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(1e-3), "mse")
    model.fit(
        x,
        y,
        batch_size=BATCH,
        epochs=EPOCHS,
        verbose=0,
        callbacks=[
            keras.callbacks.TensorBoard(options.logdir, write_graph=False),
            HealthCallback(options.logdir, period_seconds=PERIOD_SECONDS),
            KilledFromOutside(options.killed_at_step),
        ],
    )


if __name__ == "__main__":
    main()
