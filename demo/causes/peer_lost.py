"""Two workers train together; one is killed, and the other cannot go on alone.

python demo/causes/peer_lost.py logs/peer_lost

Only worker 0 records, as if the machine of the other had gone with all its files.
"""

import json
import os
import signal
import socket
import subprocess
import sys

LOST_AT_STEP = 150


def train(logdir: str, worker: int) -> None:
    import tensorflow as tf
    from _task import data, model

    from tb_health_plugin import watch

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        network = model()
        network.optimizer.build(network.trainable_variables)

    @tf.function
    def train_step(x, y):
        def on_each_worker(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((network(x, training=True) - y) ** 2)
            variables = network.trainable_variables
            network.optimizer.apply(tape.gradient(loss, variables), variables)
            return loss

        losses = strategy.run(on_each_worker, args=(x, y))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    batches = tf.data.Dataset.from_tensor_slices(data()).repeat(8).batch(32)
    if worker == 1:
        for x, y in batches.take(LOST_AT_STEP):
            train_step(x, y)
        os.kill(os.getpid(), signal.SIGKILL)
    with watch(logdir, model=network) as health:
        for x, y in health.dataset(batches):
            health.step(loss=train_step(x, y))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def start_workers(logdir: str) -> None:
    cluster = {"worker": [f"localhost:{free_port()}" for _ in range(2)]}
    workers = []
    for index in range(2):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": cluster, "task": task})
        workers.append(
            subprocess.Popen(
                [sys.executable, __file__, logdir],
                env={**os.environ, "TF_CONFIG": config},
            )
        )
    for worker in workers:
        worker.wait()


def main(logdir: str) -> None:
    config = os.environ.get("TF_CONFIG")
    if config is None:
        start_workers(logdir)
    else:
        train(logdir, json.loads(config)["task"]["index"])


if __name__ == "__main__":
    main(*sys.argv[1:])
