"""Is the time that steps wait for data right, where it is known?

`python -m bench.wait_truth` trains on data that sleeps for a known time per batch and
prints what was measured beside it, last of all as JSON. Steps take about a
millisecond, so nearly all of the sleep is a wait. The first batches are fetched before
the first step, and not counted.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tb_health_plugin
from bench.measuring import Result
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.recording.recorder import PERIOD_SECONDS

SLEEP_SECONDS = 0.05
BATCHES = 60
WORKERS = 2
FARTHEST_OFF = "farthest off, %"
X = np.ones((8, 4), "float32")
Y = np.ones((8, 1), "float32")


class Slow(keras.utils.PyDataset):
    """Every batch takes a while."""

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> Any:
        time.sleep(SLEEP_SECONDS)
        return X, Y


def slowly() -> Iterator[Any]:
    for _ in range(BATCHES):
        time.sleep(SLEEP_SECONDS)
        yield X, Y


def slow_map(x: Any, y: Any) -> Any:
    def wait(x: Any) -> Any:
        time.sleep(SLEEP_SECONDS)
        return x

    slow = tf.numpy_function(wait, [x], tf.float32)
    slow.set_shape(x.shape)
    return slow, y


def sources() -> dict[str, tuple[Callable[[], Any], float]]:
    """What to fit, and how long each step waits for it."""
    many = (np.tile(X, (BATCHES, 1)), np.tile(Y, (BATCHES, 1)))
    pairs = tf.data.Dataset.from_tensor_slices(many).batch(8, drop_remainder=True)
    return {
        "arrays": (lambda: many, 0.0),
        "generator": (slowly, SLEEP_SECONDS),
        "tf.data": (lambda: pairs.map(slow_map), SLEEP_SECONDS),
        "PyDataset": (Slow, SLEEP_SECONDS),
        f"PyDataset, {WORKERS} workers": (
            lambda: Slow(workers=WORKERS, max_queue_size=1),
            SLEEP_SECONDS / WORKERS,
        ),
    }


def measure(data: Any) -> tuple[float, int]:
    """Seconds that steps waited, and how many they were."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = data if isinstance(data, tuple) else (data, None)
    # Traced before, so that nothing is fetched ahead meanwhile.
    model.train_on_batch(X, Y)
    with tempfile.TemporaryDirectory() as logs:
        callback = tb_health_plugin.HealthCallback(logs, watcher=False)
        model.fit(
            x, y, batch_size=8, epochs=1, verbose=0, shuffle=False, callbacks=[callback]
        )
        time.sleep(2 * PERIOD_SECONDS)
        (directory,) = (Path(logs) / "plugins/health").iterdir()
        reader = AttemptReader(directory)
        reader.refresh()
        spent = reader.attempt.all(facts.TimeSpent)
    waited = sum(one.wait_seconds or 0.0 for one in spent)
    return waited, sum(one.steps or 0 for one in spent)


def ask(rounds: int) -> list[Result]:
    """Measured over slept, for each kind of data: 1 is the truth."""
    seen: dict[str, list[float]] = {}
    for _ in range(max(1, rounds // 2)):
        done = subprocess.run(
            [sys.executable, "-m", "bench.wait_truth"],
            capture_output=True,
            text=True,
            check=True,
        )
        for name, ratio in json.loads(done.stdout.splitlines()[-1]).items():
            seen.setdefault(name, []).append(ratio)
    ratios = {name: statistics.median(all_of_it) for name, all_of_it in seen.items()}
    off = max(abs(ratio - 1) for ratio in ratios.values()) * 100
    numbers = {**ratios, FARTHEST_OFF: off}
    question = f"Waits for data that sleeps {SLEEP_SECONDS} s a batch, over the truth"
    return [Result(question, "measured / slept", numbers, {})]


def main() -> None:
    print("| data | slept, s | steps waited, s | ratio |")
    print("| --- | --- | --- | --- |")
    ratios = {}
    for name, (make, each) in sources().items():
        waited, steps = measure(make())
        slept = each * steps
        if slept:
            ratios[name] = waited / slept
        ratio = f"{waited / slept:.3f}" if slept else "-"
        print(f"| {name} | {slept:.3f} | {waited:.3f} | {ratio} |", flush=True)
    print(f"\n{json.dumps(ratios)}")


if __name__ == "__main__":
    main()
