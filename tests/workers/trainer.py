"""One of several workers that train together with TensorFlow's own strategy.

`TF_CONFIG` says which one it is. Arguments: the log directory, the steps, and what goes
wrong with it, if anything.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import tb_health_plugin

BATCH = 32
# Where things go wrong: late enough for a pace of its own.
GOES_WRONG_AT = 60
# All wait this long in every step, so that a training takes some seconds.
STEP_SECONDS = 0.03
# Slow data takes at least this long, and twice as long as the step on a busy machine.
SLOW_DATA_SECONDS = 0.25
MOST_SLOW_DATA_SECONDS = 1.0
# With this step a team that works waits for a file: its limits are set by then.
LIMITED_AT = 4
LIMITS_SET = "limits_set"
LONGEST_WAIT_SECONDS = 60.0
MIB = 1 << 20

_eaten: list[bytearray] = []


def main(logdir: str, steps: int, wrong: str) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        width = 512 if wrong.endswith("work") else 8
        model = keras.Sequential(
            [
                keras.Input((8,)),
                keras.layers.Dense(width, activation="relu"),
                keras.layers.Dense(width, activation="relu"),
                keras.layers.Dense(1),
            ]
        )
        optimizer = keras.optimizers.SGD(0.001)
        optimizer.build(model.trainable_variables)

    @tf.function
    def train(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        def one(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            return loss

        losses = strategy.run(one, args=(x, y))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    with tb_health_plugin.watch(logdir, model=model, optimizer=optimizer) as health:
        for step, (x, y) in enumerate(health.dataset(batches(steps, wrong))):
            loss = train(x, y)
            health.step(loss=loss)
            print("step", step, flush=True)
            if wrong in ("frozen", "out_of_memory") and step >= GOES_WRONG_AT:
                go_wrong(wrong)
            if wrong == "work" and step == LIMITED_AT:
                wait_for(Path(logdir) / LIMITS_SET)
            time.sleep(STEP_SECONDS)


def batches(steps: int, wrong: str) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    numbers = np.random.default_rng(0)
    rows = 2_048 if wrong.endswith("work") else BATCH
    handed_on = time.monotonic()
    for step in range(steps):
        if wrong == "slow_data" and step > 2:
            wait = max(SLOW_DATA_SECONDS, 2 * (time.monotonic() - handed_on))
            time.sleep(min(wait, MOST_SLOW_DATA_SECONDS))
        x = numbers.normal(size=(rows, 8)).astype("float32")
        handed_on = time.monotonic()
        yield tf.constant(x), tf.constant(x.sum(axis=1, keepdims=True))


def wait_for(file: Path) -> None:
    until = time.monotonic() + LONGEST_WAIT_SECONDS
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)


def go_wrong(how: str) -> None:
    if how == "frozen":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        # Written to, or the kernel would not count it.
        _eaten.append(bytearray(b"x") * (64 * MIB))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
