"""A recurrent layer triples its numbers at every step of a sequence, and gradients too.

python demo/causes/exploding_gradients.py logs/exploding_gradients
"""

import sys

import keras
import numpy as np

from tb_health_plugin import HealthCallback

ROWS, STEPS = 1_024, 40


def main(logdir: str) -> None:
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(ROWS, STEPS, 4)).astype("float32")
    triples = keras.initializers.Orthogonal(gain=3.0)
    recurrent = keras.layers.SimpleRNN(
        32, activation="linear", recurrent_initializer=triples
    )
    model = keras.Sequential(
        [keras.Input((STEPS, 4)), recurrent, keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(1e-3), "mse")
    y = x.mean(axis=(1, 2))[:, None]
    model.fit(x, y, epochs=6, verbose=2, callbacks=[HealthCallback(logdir)])


if __name__ == "__main__":
    main(*sys.argv[1:])
