"""Two workers train together; one of them reads slowly, and the other waits for it.

python demo/causes/straggler.py logs/straggler
"""

import sys
import time

from _workers import model_and_step, run_two

STEPS = 80
READ_SECONDS = 0.3


def train(logdir: str, worker: int) -> None:
    import tensorflow as tf
    from _task import data

    from tb_health_plugin import watch

    def read(x):
        """As from a disk that is far away, for one of the two."""
        time.sleep(READ_SECONDS if worker == 1 else 0.0)
        return x

    def load(x, y):
        return tf.ensure_shape(tf.numpy_function(read, [x], x.dtype), x.shape), y

    network, train_step = model_and_step()
    batches = tf.data.Dataset.from_tensor_slices(data()).batch(32).map(load)
    with watch(logdir, model=network) as health:
        for x, y in health.dataset(batches.take(STEPS)):
            health.step(loss=train_step(x, y))


if __name__ == "__main__":
    run_two(__file__, sys.argv[1], train)
