"""Few rows, many units, wrong labels: it learns the training data by heart.

python demo/causes/overfitting.py logs/overfitting
"""

import sys

import keras
import numpy as np
from _classes import classes, classifier, fit


def main(logdir: str) -> None:
    x, y = classes()
    y[::3] = np.random.default_rng(2).integers(0, 4, len(y[::3]))
    wide = [keras.layers.Dense(256, activation="relu") for _ in range(2)]
    model = classifier(*wide, rate=3e-3)
    fit(model, logdir, epochs=40, data=(x[:400], y[:400]), validation_split=0.5)


if __name__ == "__main__":
    main(*sys.argv[1:])
