"""A training that is killed in the middle of an epoch, and cannot say a word.

python demo/killed_without_a_word.py logs/killed
"""

import os
import signal
import sys

import keras
import numpy as np

from tb_health_plugin import HealthCallback

KILLED_AT_STEP = 400


class KilledFromOutside(keras.callbacks.Callback):
    """Stands in for whoever sends SIGKILL: the kernel, a scheduler, a colleague."""

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        if int(self.model.optimizer.iterations) >= KILLED_AT_STEP:
            os.kill(os.getpid(), signal.SIGKILL)


def main(logdir: str) -> None:
    keras.utils.set_random_seed(7)
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4_096, 256)).astype("float32")
    y = x[:, :1] - 2 * x[:, 1:2]
    model = keras.Sequential(
        [
            keras.Input((256,)),
            keras.layers.Dense(1_024, activation="relu"),
            keras.layers.Dense(1_024, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.fit(
        x,
        y,
        batch_size=32,
        epochs=10,
        verbose=2,
        callbacks=[
            keras.callbacks.TensorBoard(logdir, write_graph=False),
            HealthCallback(logdir),
            KilledFromOutside(),
        ],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
