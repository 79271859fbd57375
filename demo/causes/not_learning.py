"""The labels have nothing to do with the rows: there is nothing to learn.

python demo/causes/not_learning.py logs/not_learning
"""

import sys

import keras
import numpy as np
from _classes import classes, classifier, fit


def main(logdir: str) -> None:
    x, y = classes()
    mixed = np.random.default_rng(5).permutation(y)
    small = keras.layers.Dense(4, activation="relu")
    fit(classifier(small), logdir, data=(x, mixed))


if __name__ == "__main__":
    main(*sys.argv[1:])
