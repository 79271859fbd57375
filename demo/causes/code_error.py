"""A hand-written loop looks up a setting that is not there, and raises KeyError.

python demo/causes/code_error.py logs/code_error
"""

import sys

import tensorflow as tf
from _task import data, model

from tb_health_plugin import watch

SETTINGS = {"learning_rate": 1e-3, "batch": 32}


def main(logdir: str) -> None:
    network = model()
    batches = tf.data.Dataset.from_tensor_slices(data()).repeat(8)
    with watch(logdir, model=network) as health:
        for x, y in health.dataset(batches.batch(SETTINGS["batch"])):
            health.step(loss=network.train_on_batch(x, y))
            if int(network.optimizer.iterations) == 500:
                print("Saving to", SETTINGS["checkpoint_folder"])


if __name__ == "__main__":
    main(*sys.argv[1:])
