"""What all scripts beside this one train on: 64 numbers in, one number out."""

import keras
import numpy as np

FEATURES = 64
Pair = tuple[np.ndarray, np.ndarray]


def data(rows: int = 4_096) -> Pair:
    """Rows whose target follows from two of their numbers, with some noise."""
    keras.utils.set_random_seed(7)
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, FEATURES)).astype("float32")
    noise = 0.1 * rng.normal(size=(rows, 1))
    return x, (x[:, :1] - 2 * x[:, 1:2] + noise).astype("float32")


def model(optimizer: keras.optimizers.Optimizer | None = None) -> keras.Model:
    """A small model that learns it within a few epochs."""
    made = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    made.compile(optimizer or keras.optimizers.Adam(1e-3), "mse")
    return made
