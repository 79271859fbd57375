"""Nine sigmoid layers in a row: no gradient reaches the first ones.

python demo/causes/vanishing_gradients.py logs/vanishing_gradients
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    deep = [keras.layers.Dense(16, activation="sigmoid") for _ in range(9)]
    fit(classifier(*deep), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
