"""Two workers train together; one is killed, and the other cannot go on alone.

python demo/causes/peer_lost.py logs/peer_lost

Only worker 0 records, as if the machine of the other had gone with all its files.
"""

import os
import signal
import sys

from _workers import model_and_step, run_two

LOST_AT_STEP = 150


def train(logdir: str, worker: int) -> None:
    import tensorflow as tf
    from _task import data

    from tb_health_plugin import watch

    network, train_step = model_and_step()
    batches = tf.data.Dataset.from_tensor_slices(data()).repeat(8).batch(32)
    if worker == 1:
        for x, y in batches.take(LOST_AT_STEP):
            train_step(x, y)
        os.kill(os.getpid(), signal.SIGKILL)
    with watch(logdir, model=network) as health:
        for x, y in health.dataset(batches):
            health.step(loss=train_step(x, y))


if __name__ == "__main__":
    run_two(__file__, sys.argv[1], train)
