"""A cast to whole numbers has no derivative: what comes before it cannot learn.

python demo/causes/no_gradient.py logs/no_gradient
"""

import sys

import keras
from _classes import CLASSES, FEATURES, fit


def main(logdir: str) -> None:
    inputs = keras.Input((FEATURES,))
    hidden = keras.layers.Dense(32, activation="relu", name="features")(inputs)
    levels = keras.ops.cast(keras.ops.cast(4 * hidden, "int32"), "float32")
    outputs = keras.layers.Dense(CLASSES, activation="softmax")(levels)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    fit(model, logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
