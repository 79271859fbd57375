"""TensorFlow was told to use one thread, on a machine that has more CPUs.

python demo/causes/cpu_limited.py logs/cpu_limited
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from tb_health_plugin import HealthCallback

WIDE = 2_048


def main(logdir: str) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(2_048, 256)).astype("float32")
    wide = [keras.layers.Dense(WIDE, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((256,)), *wide, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-4), "mse")
    y = x[:, :1] - x[:, 1:2]
    health = HealthCallback(logdir)
    model.fit(x, y, epochs=6, batch_size=128, verbose=2, callbacks=[health])


if __name__ == "__main__":
    main(*sys.argv[1:])
