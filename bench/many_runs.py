"""Writes a log directory as a busy team has it: many runs, and one of a whole day."""

from pathlib import Path

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile

RUNS = 1_000
SMALL_SAMPLES = 60
BIG_SAMPLES = 86_400
BIG_STEPS = 1_000_000
BIG_RUN = "day_long"
SCALARS_TAG = "loss"
_BEGAN = 1_763_000_000.0
_GIB = float(1 << 30)
_COLUMNS = (
    "step",
    "epoch",
    "loss",
    "data_waited_seconds",
    "process_rss_bytes",
    "host_memory_used_bytes",
    "host_memory_total_bytes",
    "tree_cpu_seconds",
    "tree_read_bytes",
    "tree_write_bytes",
)


def write(folder: Path) -> None:
    """All runs, each with what our recorder and what a summary writer would leave."""
    for number in range(RUNS - 1):
        began = _BEGAN + 600 * number
        name = f"sweep/run_{number:04}"
        attempt(folder / name, began, SMALL_SAMPLES, 100, fails=number % 3 == 0)
        scalars(folder / name, began, SMALL_SAMPLES, 100)
    attempt(folder / BIG_RUN, _BEGAN, BIG_SAMPLES, BIG_STEPS, fails=True)
    scalars(folder / BIG_RUN, _BEGAN, BIG_SAMPLES, BIG_STEPS)


def _numbers(samples: int, steps: int) -> np.ndarray:
    """One row per second, with the noise that real numbers have."""
    rng = np.random.default_rng(samples)
    second = np.arange(1, samples + 1, dtype=float)
    step = np.floor(second * steps / samples)
    noise = rng.normal(size=samples)
    return np.column_stack(
        [
            step,
            np.floor(10 * step / steps),
            0.2 + 2 * np.exp(-3 * step / steps) + 0.02 * np.abs(noise),
            0.1 * second,
            4 * _GIB * (1 + 0.01 * noise),
            9 * _GIB * (1 + 0.01 * noise),
            np.full(samples, 32 * _GIB),
            1.7 * second,
            1e6 * second,
            1e5 * second,
        ]
    )


def attempt(run: Path, began: float, samples: int, steps: int, *, fails: bool) -> None:
    directory = run / HEALTH_DIRECTORY / "recorded"
    directory.mkdir(parents=True)
    ended = began + samples
    records = EventFile(directory / str(FileName("records", 0)), now=began)
    told: list[facts.Fact] = [
        facts.RunStarted(wall_time=began, host="bench", pid=1, program="train.py"),
        facts.TrainingStarted(
            wall_time=began,
            training=0,
            planned_epochs=10,
            planned_steps_per_epoch=steps // 10,
            settings={"batch_size": "32", "optimizer": "Adam"},
        ),
    ]
    if fails:
        told.append(
            facts.RunEnded(
                wall_time=ended,
                step=steps,
                reason="exception",
                exception="ValueError",
                message="bad batch",
                training_under_way=True,
            )
        )
    else:
        end = {"wall_time": ended, "step": steps}
        told.append(facts.TrainingEnded(**end, training=0, epochs_done=10))
        told.append(facts.RunEnded(**end, reason="finished"))
    for fact in told:
        records.append_fact(fact)
    records.close()
    path = directory / str(FileName("samples", 0))
    file = SampleFile(path, _COLUMNS, period_seconds=1.0, now=began)
    for second, row in enumerate(_numbers(samples, steps).tolist(), start=1):
        file.append(began + second, row)
    file.close()


def scalars(run: Path, began: float, samples: int, steps: int) -> None:
    """The loss once more, for TensorBoard's own Time Series."""
    numbers = _numbers(samples, steps)
    with (run / "events.out.tfevents.1.bench").open("wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(file_version="brain.Event:2").SerializeToString())
        for second, (step, loss) in enumerate(numbers[:, [0, 2]].tolist(), start=1):
            value = summary_pb2.Summary.Value(tag=SCALARS_TAG, simple_value=loss)
            event = event_pb2.Event(
                wall_time=began + second,
                step=int(step),
                summary=summary_pb2.Summary(value=[value]),
            )
            writer.write(event.SerializeToString())
        writer.flush()
