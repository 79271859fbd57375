"""A day of training as the recorder leaves it, made up: for measuring, not for truth.

86,400 samples, a million steps, a hundred epochs and fifty layers, with as many facts
as the recorder's own schedules would write in that time. Nothing is wrong with it, so
no rule can stop early.
"""

import math
from collections.abc import Iterator

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Array

DAY = 86_400
STEPS = 1_000_000
EPOCHS = 100
LAYERS = 50
GIB = float(1 << 30)
BEGAN = 1_700_000_000.0
# As `recording/fitting/time_spent.py` and `look_schedule.py` have them.
STRETCH_SECONDS = 5
LOOKS_PER_E_FOLD = 200
BATCHES_SEEN = 15_000


def long_run(seconds: int = DAY, layers: int = LAYERS) -> Attempt:
    """The attempt, as it is known after so many seconds."""
    attempt = Attempt("long")
    attempt.period_seconds = 1.0
    for fact in told(seconds, layers):
        attempt.add(fact)
    attempt.samples.append(samples(0, seconds))
    return attempt


def told(seconds: int = DAY, layers: int = LAYERS) -> Iterator[facts.Fact]:
    """All facts of it."""
    yield from _start(layers)
    yield from _epochs(seconds)
    yield from _stretches(seconds)
    yield from _looks(seconds, layers)
    yield from _batches(seconds)
    if seconds >= DAY:
        yield from _end()


def samples(begin: int, end: int) -> dict[str, Array]:
    """The samples of these seconds, by column."""
    second = np.arange(begin, end, dtype=float)
    step = np.floor(second * STEPS / DAY)
    wave = np.sin(second / 60.0)
    level = {
        "process_rss_bytes": 4 * GIB,
        "tree_rss_bytes": 5 * GIB,
        "host_memory_used_bytes": 9 * GIB,
        "host_memory_total_bytes": 64 * GIB,
        "cgroup_memory_used_bytes": 5 * GIB,
        "cgroup_memory_limit_bytes": 16 * GIB,
        "logdir_disk_free_bytes": 200 * GIB,
        "logdir_disk_total_bytes": 500 * GIB,
        "process_fds": 120.0,
        "process_fd_limit": 1024.0,
        "process_threads": 40.0,
        "cgroup_cpu_limit_cores": 8.0,
        "machine_cpu_cores": 16.0,
        "loss": 0.5,
    }
    rates = {
        "tree_cpu_seconds": 3.0,
        "process_cpu_seconds": 3.0,
        "tree_read_bytes": 1e6,
        "tree_write_bytes": 1e4,
        "data_waited_seconds": 0.01,
        "process_major_faults": 0.1,
        "machine_swap_in_pages": 0.0,
        "machine_swap_out_pages": 0.0,
        "pressure_memory_some_seconds": 0.0,
        "pressure_io_full_seconds": 0.001,
        "cgroup_cpu_throttled_periods": 0.1,
        "network_received_bytes": 1e5,
    }
    columns = {name: value * (1 + 0.002 * wave) for name, value in level.items()}
    columns |= {name: rate * second for name, rate in rates.items()}
    columns["wall_time"] = BEGAN + second
    columns["step"] = step
    columns["epoch"] = np.floor(step * EPOCHS / STEPS)
    return columns


def _start(count: int) -> list[facts.Fact]:
    layers = tuple(
        facts.Layer(
            name=f"dense_{number}",
            kind="Dense",
            activation="relu" if number < count - 1 else "softmax",
            units=10,
            parameters=110,
            trainable=True,
            is_output=number == count - 1,
        )
        for number in range(count)
    )
    variables = tuple(
        facts.Variable(
            name=f"{layer.name}/{part}",
            layer=layer.name,
            size=100,
            trainable=True,
            dtype="float32",
        )
        for layer in layers
        for part in ("kernel", "bias")
    )
    return [
        facts.RunStarted(wall_time=BEGAN, pid=1, host="host"),
        facts.TrainingStarted(
            wall_time=BEGAN + 1,
            training=0,
            model="model",
            initial_epoch=0,
            planned_epochs=EPOCHS,
            planned_steps_per_epoch=STEPS // EPOCHS,
            first_step=0,
            loop="fit",
            trainable_parameters=110 * count,
            layers=layers,
            variables=variables,
            settings={
                "model": "Sequential",
                "optimizer": "Adam",
                "optimizer.learning_rate": "0.001",
                "loss": "sparse_categorical_crossentropy",
                "train_step": "keras",
                "batch_size": "32",
                "data.kind": "tf.data",
            },
        ),
    ]


def _end() -> list[facts.Fact]:
    end = BEGAN + DAY
    return [
        facts.TrainingEnded(
            wall_time=end,
            step=STEPS,
            training=0,
            reason="returned",
            last_step=STEPS,
            epochs_done=EPOCHS,
        ),
        facts.RunEnded(wall_time=end, step=STEPS, reason="finished", last_step=STEPS),
        facts.ProcessEnded(wall_time=end, step=STEPS, exit_code=0, seen_by="pidfd"),
    ]


def _epochs(seconds: int) -> list[facts.Fact]:
    each, length = STEPS // EPOCHS, DAY / EPOCHS
    return [
        facts.EpochEnded(
            wall_time=BEGAN + (epoch + 1) * length,
            step=(epoch + 1) * each,
            training=0,
            epoch=epoch,
            first_step=epoch * each,
            last_step=(epoch + 1) * each,
            planned_steps=each,
            started_at=BEGAN + epoch * length,
            metrics={
                "loss": 2.3 * math.exp(-epoch / 20) + 0.2,
                "accuracy": 0.95 - 0.85 * math.exp(-epoch / 20),
                "val_loss": 2.3 * math.exp(-epoch / 20) + 0.25,
                "val_accuracy": 0.93 - 0.83 * math.exp(-epoch / 20),
            },
            loss_profile=tuple(1.0 / (1 + part) for part in range(16)),
            lowest_loss=0.1,
            highest_loss=2.4,
            learning_rate=1e-3,
        )
        for epoch in range(int(EPOCHS * seconds / DAY))
    ]


def _stretches(seconds: int) -> list[facts.Fact]:
    steps = STEPS * STRETCH_SECONDS // DAY
    return [
        facts.TimeSpent(
            wall_time=BEGAN + at + STRETCH_SECONDS,
            step=int((at + STRETCH_SECONDS) * STEPS / DAY),
            training=0,
            since=BEGAN + at,
            seconds=float(STRETCH_SECONDS),
            steps=steps,
            examples=32 * steps,
            wait_seconds=0.05,
            step_seconds=4.8,
            callback_seconds={"ProgbarLogger": 0.01},
            recording_seconds=0.01,
            traces=1 if not at else 0,
        )
        for at in range(0, seconds - STRETCH_SECONDS, STRETCH_SECONDS)
    ]


def _looks(seconds: int, layers: int) -> list[facts.Fact]:
    at, found = 1.0, []
    variables = 2 * layers
    while at < seconds:
        found.append(
            facts.Inspected(
                wall_time=BEGAN + at,
                step=int(at * STEPS / DAY),
                training=0,
                loss=0.5,
                gradient_norm=1.0,
                learning_rate=1e-3,
                has_gradient=(1.0,) * variables,
                gradient_norms=(0.1,) * variables,
                gradient_nonfinite=(0.0,) * variables,
                gradient_zero_fractions=(0.1,) * variables,
                weight_norms=(3.0 + at / DAY,) * variables,
                update_norms=(0.003,) * variables,
                output_zero_fractions=(0.5,) * layers,
                output_dead_fractions=(0.0,) * layers,
                output_saturated_fractions=(0.0,) * layers,
                output_minimums=(0.0,) * layers,
                output_maximums=(2.0,) * layers,
                output_stds=(0.5,) * layers,
                output_nonfinite=(0.0,) * layers,
                seconds=0.01,
            )
        )
        at += max(1.0, at / LOOKS_PER_E_FOLD)
    return found


def _batches(seconds: int) -> list[facts.Fact]:
    apart, each = DAY / BATCHES_SEEN, STEPS // EPOCHS
    field = facts.Field(
        name="x",
        role="input",
        dtype="float32",
        shape=(32, 20),
        nonfinite_count=0,
        minimum=-3.0,
        maximum=3.0,
        mean=0.0,
        std=1.0,
        features=20,
        lowest_feature_std=0.9,
        highest_feature_std=1.1,
    )
    found: list[facts.Fact] = []
    for number in range(int(seconds / apart)):
        step = int(number * STEPS / BATCHES_SEEN)
        counts = tuple(3 + (number + value) % 2 for value in range(10))
        target = facts.Field(
            name="y",
            role="target",
            dtype="int64",
            shape=(32,),
            minimum=0.0,
            maximum=9.0,
            mean=4.5,
            std=2.9,
            whole_numbers=True,
            distinct=10,
            values=tuple(float(value) for value in range(10)),
            counts=counts,
        )
        found.append(
            facts.BatchSeen(
                wall_time=BEGAN + number * apart,
                step=step,
                training=0,
                epoch=step // each,
                batch=step % each,
                fields=(field, target),
            )
        )
    return found
