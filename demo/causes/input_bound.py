"""Each row is prepared by slow Python code, while the model waits for it.

python demo/causes/input_bound.py logs/input_bound
"""

import sys

import numpy as np
import tensorflow as tf
from _task import FEATURES, data, model

from tb_health_plugin import HealthCallback


def prepare(row):
    """A Python loop over single numbers, for every row of every epoch."""
    for _ in range(150):
        total = sum(float(number) for number in row)
    return np.where(np.isfinite(total), row, 0.0).astype("float32")


def load(row, target):
    prepared = tf.numpy_function(prepare, [row], tf.float32)
    return tf.ensure_shape(prepared, (FEATURES,)), target


def main(logdir: str) -> None:
    rows = tf.data.Dataset.from_tensor_slices(data(2_048))
    batches = rows.shuffle(2_048).map(load).batch(32)
    model().fit(batches, epochs=6, verbose=2, callbacks=[HealthCallback(logdir)])


if __name__ == "__main__":
    main(*sys.argv[1:])
