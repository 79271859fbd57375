"""One target per row, ten outputs: all of them chase the same number, without a word.

python demo/causes/shape_mismatch.py logs/shape_mismatch
"""

import sys

import keras
from _classes import FEATURES, classes, fit


def main(logdir: str) -> None:
    x, _ = classes()
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", "mse")
    fit(model, logdir, data=(x, x[:, :1] - x[:, 1:2]))


if __name__ == "__main__":
    main(*sys.argv[1:])
