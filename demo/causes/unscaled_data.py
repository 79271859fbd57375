"""Targets are in the hundred thousands; the model begins at zero.

python demo/causes/unscaled_data.py logs/unscaled_data
"""

import sys

import keras
import numpy as np
from _classes import FEATURES, ROWS, classes, fit


def main(logdir: str) -> None:
    x, _ = classes()
    noise = np.random.default_rng(3).normal(size=(ROWS, 1))
    y = 400_000 + 90_000 * x[:, :1] + noise
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    fit(model, logdir, data=(x, y))


if __name__ == "__main__":
    main(*sys.argv[1:])
