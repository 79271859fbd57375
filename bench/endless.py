"""A training that goes on until somebody kills it, and says each step it finished.

`python -m bench.endless VARIANT LOGDIR` prints the time and the number of every step.
"""

import os
import sys
import time
from typing import Any

import keras
import numpy as np

from bench.trainer import around_fit

BATCH, WIDTH, STEPS = 32, 64, 200
# About what a step of a small real model takes.
STEP_SECONDS = 0.02


class Says(keras.callbacks.Callback):
    """Tells when a step is finished; the pipe is read after the end."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(STEP_SECONDS)
        self._steps += 1
        os.write(1, b"%f %d\n" % (time.time(), self._steps))


def main(variant: str, logdir: str) -> None:
    x = np.random.default_rng(0).normal(size=(BATCH * STEPS, WIDTH)).astype("float32")
    model = keras.Sequential(
        [keras.Input((WIDTH,)), keras.layers.Dense(WIDTH), keras.layers.Dense(1)]
    )
    with around_fit(variant, logdir) as callbacks:
        model.compile(keras.optimizers.SGD(1e-4), "mse")
        model.fit(
            x,
            x[:, :1],
            batch_size=BATCH,
            epochs=1_000,
            verbose=0,
            callbacks=[*callbacks, Says()],
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
