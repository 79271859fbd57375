"""A large negative bias: the layer gives out nothing but 0.

python demo/causes/dead_relu.py logs/dead_relu
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    dead = keras.layers.Dense(
        32, activation="relu", bias_initializer=keras.initializers.Constant(-50.0)
    )
    fit(classifier(dead), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
