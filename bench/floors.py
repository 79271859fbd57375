"""How near is each part of the recording to what the machine itself needs for it?

Beside each stands the least that could do the same: a bare write, a bare store into
mapped memory, one fused norm over all weights, a bare read.
"""

import json
import mmap
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measuring import Result, compare
from tb_health_plugin.events import facts
from tb_health_plugin.events.event_file import EventFile, encode_fact
from tb_health_plugin.events.framing import frame
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.sample_reader import SampleReader
from tb_health_plugin.reading.table import Table
from tb_health_plugin.writing.black_box import BlackBox, Progress, make_file

TIMES = 5_000
HOUR = 3_600
COLUMNS = tuple(f"c{number}" for number in range(60))
FACT = facts.EpochEnded(wall_time=1.0, epoch=1, metrics={"loss": 0.5})


def ask(rounds: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            _write(Path(folder), rounds),
            _store(rounds),
            _read(Path(folder), rounds),
            _look(),
        ]


def _each(times: int, call: Callable[[int], object]) -> float:
    """Microseconds for one of them."""
    began = time.perf_counter()
    for number in range(times):
        call(number)
    return (time.perf_counter() - began) / times * 1e6


def _write(folder: Path, rounds: int) -> Result:
    data = frame(encode_fact(FACT))
    raw = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    file = EventFile(folder / "records", now=1.0)
    result = compare(
        f"Floor: writing a fact of {len(data)} bytes",
        {
            "a bare write": lambda: _each(TIMES // 5, lambda _: os.write(raw, data)),
            "encoded, framed and written": lambda: _each(
                TIMES // 5, lambda _: file.append_fact(FACT)
            ),
        },
        unit="µs",
        rounds=rounds,
    )
    os.close(raw)
    file.close()
    return result


def _store(rounds: int) -> Result:
    box, bare = BlackBox(make_file()), mmap.mmap(-1, 4_096)
    progress = Progress(0, 0.0, 0.0, 0.0, 0.0, 0.0, 2, 0)
    pack = struct.Struct("<Q").pack_into
    result = compare(
        "Floor: publishing a step",
        {
            "a bare store into mapped memory": lambda: _each(
                TIMES, lambda step: pack(bare, 0, step)
            ),
            "progress, whole at any moment": lambda: _each(
                TIMES, lambda _: box.set_progress(progress)
            ),
        },
        unit="µs",
        rounds=rounds,
    )
    box.close()
    return result


def _read(folder: Path, rounds: int) -> Result:
    path = folder / "samples.000.tfrecord"
    file = SampleFile(path, COLUMNS, period_seconds=1.0, now=1.0)
    for second in range(HOUR):
        file.append(1.0 + second, [float(second)] * len(COLUMNS))
    file.close()

    def bare() -> float:
        began = time.process_time()
        assert np.fromfile(path, np.uint8).sum() > 0
        return (time.process_time() - began) * 1e3

    def ours() -> float:
        began = time.process_time()
        table = Table()
        SampleReader(path).read_into(table)
        assert len(table) == HOUR
        return (time.process_time() - began) * 1e3

    return compare(
        f"Floor: reading an hour of samples ({path.stat().st_size / 1e6:.1f} MB)",
        {"every byte touched once": bare, "checked and as columns": ours},
        unit="CPU ms",
        rounds=rounds,
    )


def _look() -> Result:
    """In a process of its own, because it loads TensorFlow."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.floors", "look"],
        capture_output=True,
        text=True,
        check=True,
    )
    numbers = json.loads(done.stdout.strip().splitlines()[-1])
    base = next(iter(numbers.values()))
    ratios = {name: (n / base, n / base, n / base) for name, n in numbers.items()}
    return Result(
        "Floor: a look at gradients, weights, updates and activations",
        "ms",
        numbers,
        ratios,
    )


def look() -> dict[str, float]:
    """What a training says its looks cost, beside one norm over all its weights."""
    import keras  # noqa: PLC0415 - only in this process
    import tensorflow as tf  # noqa: PLC0415

    from tb_health_plugin import HealthCallback  # noqa: PLC0415
    from tb_health_plugin.diagnosing import find_run  # noqa: PLC0415

    width = 512
    x = np.random.default_rng(0).normal(size=(64 * 200, width)).astype("float32")
    layers = [keras.layers.Dense(width, activation="relu") for _ in range(4)]
    model = keras.Sequential([keras.Input((width,)), *layers, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-4), "mse")
    with tempfile.TemporaryDirectory() as logs:
        hook = HealthCallback(logs, period_seconds=0.2)
        model.fit(x, x[:, :1], batch_size=64, epochs=20, verbose=0, callbacks=[hook])
        time.sleep(1.0)
        attempt = find_run(Path(logs)).latest
        assert attempt is not None
        looks = [one.seconds for one in attempt.all(facts.Inspected) if one.seconds]
        spent = [one for one in attempt.all(facts.TimeSpent) if one.step_seconds]

        @tf.function
        def norm() -> object:
            return tf.linalg.global_norm(model.trainable_variables)

        norm()
        fused = statistics.median(_each(1, lambda _: norm()) for _ in range(50)) / 1e3
        steps = [one.step_seconds / one.steps for one in spent if one.steps]
        return {
            "one fused norm over all weights": fused,
            "one step of this training": statistics.median(steps) * 1e3,
            "a look, the cheapest that the record tells": min(looks) * 1e3,
        }


if __name__ == "__main__":
    if sys.argv[1:] == ["look"]:
        print(json.dumps(look()))
    else:
        for result in ask(3):
            print(result)
