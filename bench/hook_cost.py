"""What does the hook cost a training, at short and at long steps?"""

import tempfile
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from bench.measuring import Result, compare
from tb_health_plugin import HealthCallback

# Width of the layers, examples in a batch, steps in an epoch, epochs.
WORKLOADS = {
    "steps of about 1 ms": (32, 16, 250, 4),
    "steps of about 50 ms": (1_024, 512, 20, 2),
}


def ask(rounds: int) -> list[Result]:
    return [_workload(name, *sizes, rounds) for name, sizes in WORKLOADS.items()]


def _workload(
    name: str, width: int, batch: int, steps: int, epochs: int, rounds: int
) -> Result:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch * steps, width)).astype("float32")
    y = x[:, :1]
    model = keras.Sequential(
        [
            keras.Input((width,)),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")

    def measure(callbacks: Callable[[], list[Any]]) -> float:
        made = callbacks()
        began = time.perf_counter()
        model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0, callbacks=made)
        return (time.perf_counter() - began) / (steps * epochs) * 1e3

    with tempfile.TemporaryDirectory() as logs:
        measure(list)
        return compare(
            f"Cost of the hook, {name}",
            {
                "bare": lambda: measure(list),
                "HealthCallback": lambda: measure(lambda: [HealthCallback(logs)]),
                "keras TensorBoard callback": lambda: measure(
                    lambda: [keras.callbacks.TensorBoard(f"{logs}/tb")]
                ),
            },
            unit="ms per step",
            rounds=rounds,
        )
