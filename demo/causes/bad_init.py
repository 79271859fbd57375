"""All weights begin at zero, so that all units stay the same for ever.

python demo/causes/bad_init.py logs/bad_init
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    zeros = {"kernel_initializer": "zeros"}
    hidden = [keras.layers.Dense(24, activation="relu", **zeros) for _ in range(2)]
    fit(classifier(*hidden, **zeros), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
