"""A small training that does what it should.

python demo/healthy.py logs/healthy
"""

import sys

import keras
import numpy as np

from tb_health_plugin import HealthCallback


def main(logdir: str) -> None:
    keras.utils.set_random_seed(7)
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4_096, 64)).astype("float32")
    y = (x[:, :1] - 2 * x[:, 1:2] + 0.1 * rng.normal(size=(4_096, 1))).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(512, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.fit(
        x,
        y,
        batch_size=32,
        epochs=12,
        validation_split=0.1,
        verbose=2,
        callbacks=[
            keras.callbacks.TensorBoard(logdir, write_graph=False),
            HealthCallback(logdir),
        ],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
