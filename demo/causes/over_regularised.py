"""A weight penalty presses all weights to zero.

python demo/causes/over_regularised.py logs/over_regularised
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    strong = keras.regularizers.L2(2.0)
    hidden = keras.layers.Dense(32, activation="relu", kernel_regularizer=strong)
    fit(classifier(hidden, kernel_regularizer=strong), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
