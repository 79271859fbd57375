"""The model takes the logarithm of numbers that are not always above 0.

python demo/causes/nan_op.py logs/nan_op
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    log = keras.layers.Lambda(keras.ops.log, name="logarithm")
    fit(classifier(keras.layers.Dense(16), log), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
