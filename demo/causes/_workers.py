"""Two workers on one machine that train one model in step."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def run_two(script: str, logdir: str, train: Callable[[str, int], None]) -> None:
    """Starts `script` twice; each of the two calls `train` with its number."""
    config = os.environ.get("TF_CONFIG")
    if config is not None:
        train(logdir, json.loads(config)["task"]["index"])
        return
    cluster = {"worker": [f"localhost:{_free_port()}" for _ in range(2)]}
    workers = []
    for index in range(2):
        task = {"type": "worker", "index": index}
        told = json.dumps({"cluster": cluster, "task": task})
        workers.append(
            subprocess.Popen(
                [sys.executable, script, logdir], env={**os.environ, "TF_CONFIG": told}
            )
        )
    for worker in workers:
        worker.wait()


def model_and_step() -> tuple[Any, Callable[[Any, Any], Any]]:
    """A model that all workers share, and a step that they all take together."""
    import tensorflow as tf
    from _task import model

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

    return network, train_step


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]
