"""One training in a process of its own, which tells what it cost.

`python -m bench.trainer WORKLOAD VARIANT EPOCHS [WIDTH]` prints a line of JSON. Nothing
of one measurement is left for the next: some variants change TensorFlow for good.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tb_health_plugin
from bench import peers
from bench.cost import OURS, OURS_ALL, WATCHER_ONLY
from bench.workloads import WORKLOADS
from tb_health_plugin.recording.attempts import attempt_for

# Small: a training in danger is looked at more closely, which is not the usual cost.
RATE = 1e-4
# What runs before is start-up: tracing, and the first looks at the training.
WARM_SHARE = 1 / 3
# A training is under way with that many: by then all is traced, and looked at once.
STARTED_STEPS = 10


class Marks(keras.callbacks.Callback):
    """Notes when the training is under way, and time and work when an epoch ends."""

    def __init__(self) -> None:
        super().__init__()
        self.started: float | None = None
        self.marks: list[tuple[float, float]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.started is None and batch == STARTED_STEPS - 1:
            self.started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.marks.append((time.perf_counter(), time.process_time()))


def main(workload: str, variant: str, epochs: int, width: int | None = None) -> None:
    sizes = WORKLOADS[workload]
    batch, steps = sizes.batch, sizes.steps
    width = width or sizes.width
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch * steps, width)).astype("float32")
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((width,)),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    marks = Marks()
    train = _fit if workload.startswith("fit") else _loop
    if variant in (OURS, OURS_ALL, "watch"):
        # What it imports is imported once per program, and no part of start-up.
        getattr(tb_health_plugin, "watch" if variant == "watch" else "HealthCallback")
    with tempfile.TemporaryDirectory() as logs:
        began = time.perf_counter()
        train(model, x, batch, epochs, marks, variant, logs)
    warm = round(epochs * WARM_SHARE)
    first, last = marks.marks[warm - 1], marks.marks[-1]
    count = steps * (epochs - warm)
    if marks.started is None:
        raise ValueError(f"An epoch of {steps} steps is too short to measure a start.")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {
        "wall": (last[0] - first[0]) / count * 1e3,
        "cpu": (last[1] - first[1]) / count * 1e3,
        "start": marks.started - began,
        "peak": peak,
        "width": width,
    }
    print(json.dumps(told))


def _fit(
    model: Any, x: Any, batch: int, epochs: int, marks: Any, variant: str, logs: str
) -> None:
    with around_fit(variant, logs) as callbacks:
        model.compile(keras.optimizers.SGD(RATE), "mse")
        model.fit(
            x,
            x[:, :1],
            batch_size=batch,
            epochs=epochs,
            verbose=0,
            callbacks=[marks, *callbacks],
        )


def around_fit(variant: str, logs: str) -> AbstractContextManager[list[Any]]:
    """What is set up for `fit`, with the callbacks it gets."""
    if variant == "bare":
        return nullcontext([])
    if variant == OURS:
        return nullcontext([tb_health_plugin.HealthCallback(logs)])
    if variant == OURS_ALL:
        reacting = {"stop_on": ["nan"], "on_finding": lambda finding: None}
        return nullcontext([tb_health_plugin.HealthCallback(logs, **reacting)])
    if variant == WATCHER_ONLY:
        attempt_for(logs)
        return nullcontext([])
    peer: Callable[[str], Iterator[list[Any]]] = peers.PEERS[variant]
    return contextmanager(peer)(logs)


def _loop(
    model: Any, x: Any, batch: int, epochs: int, marks: Any, variant: str, logs: str
) -> None:
    optimizer = keras.optimizers.SGD(RATE)
    dataset = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(batch)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    if variant == "bare":
        for epoch in range(epochs):
            for number, one in enumerate(dataset):
                # A loop that is not watched looks at its loss, too.
                float(step(*one))
                marks.on_train_batch_end(number)
            marks.on_epoch_end(epoch)
        return
    with tb_health_plugin.watch(logs, model=model, optimizer=optimizer) as health:
        for epoch in range(epochs):
            for number, one in enumerate(health.dataset(dataset)):
                health.step(loss=step(*one))
                marks.on_train_batch_end(number)
            marks.on_epoch_end(epoch)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
