"""A softmax over one unit says 1 to every row.

python demo/causes/wrong_output_loss.py logs/wrong_output_loss
"""

import sys

import keras
from _classes import FEATURES, classes, fit


def main(logdir: str) -> None:
    x, y = classes()
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(1, activation="softmax"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    fit(model, logdir, data=(x, (y > 1).astype("float32")))


if __name__ == "__main__":
    main(*sys.argv[1:])
