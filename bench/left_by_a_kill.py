"""What is on disk when a training is killed, and does it say why?

Each recorder runs in a training of its own, which is killed with SIGKILL. Then the
disk is asked: how old is the last fact, how many bytes are there, what state do they
tell. Each is read with its own reader.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.reading.liveness import Life

SECONDS, QUICK_SECONDS = 60.0, 8.0
# Until then the killed process may be told by whoever watches it.
SETTLE_SECONDS = 5.0
GONE = Life(alive=False, because="It was killed.")
OURS = "HealthCallback"
TENSORBOARD = "Keras TensorBoard callback"
BY_BATCH = 'Keras TensorBoard, update_freq="batch"'
WANDB = "W&B offline, each batch"
MLFLOW = "MLflow system metrics at 1 Hz"
# Of `bench/endless.py`, which is not imported: it loads TensorFlow.
EPOCH_STEPS = 200


@dataclass(frozen=True)
class Fact:
    """The newest that the disk knows.

    Attributes:
        at: When, in seconds since the epoch; None if there is nothing.
        step: Of which step; None if no step is told.
        told: What it says of the end.
        names_cause: It says what happened: killed from outside, by SIGKILL.
    """

    at: float | None
    step: int | None
    told: str
    names_cause: bool = False


@dataclass(frozen=True)
class Left:
    """What one recorder left."""

    variant: str
    age_seconds: float | None
    steps_lost: int | None
    megabytes_per_hour: float
    told: str
    names_cause: bool

    @property
    def row(self) -> str:
        age = "nothing" if self.age_seconds is None else f"{self.age_seconds:.2f}"
        lost = "all" if self.steps_lost is None else f"{self.steps_lost:,}"
        cause = "yes" if self.names_cause else "no"
        return (
            f"| {self.variant} | {age} | {lost} | {self.megabytes_per_hour:.2f} "
            f"| {cause} | {self.told} |"
        )


@dataclass(frozen=True)
class Kills:
    """All of them as one table."""

    seconds: float
    left: tuple[Left, ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"### What is on disk after SIGKILL ({self.seconds:.0f} s of training)\n",
            "| recorder | age of the last fact, s | steps lost | MB per hour "
            "| names the cause | what it tells |",
            "| --- | --- | --- | --- | --- | --- |",
            *(one.row for one in self.left),
        ]
        lines += [f"\nNot measured: {name}." for name in self.missing]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "question": "What is on disk after SIGKILL",
            "seconds": self.seconds,
            "recorders": {one.variant: vars(one) for one in self.left},
            "not_measured": list(self.missing),
        }


def ask(rounds: int) -> list[Kills]:
    seconds = QUICK_SECONDS if os.environ.get("QUICK") else SECONDS
    asked = [n for n in READERS if n not in (WANDB, MLFLOW) or os.environ.get("PEERS")]
    if os.environ.get("QUICK"):
        asked.remove(BY_BATCH)
    missing = tuple(f"{n} (make bench PEERS=1)" for n in READERS if n not in asked)
    return [Kills(seconds, tuple(_kill(n, seconds) for n in asked), missing)]


def _kill(variant: str, seconds: float) -> Left:
    with tempfile.TemporaryDirectory() as folder:
        logs, said = Path(folder) / "logs", Path(folder) / "said"
        logs.mkdir()
        with said.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.endless", variant, str(logs)],
                stdout=output,
                stderr=subprocess.DEVNULL,
            )
        while not said.stat().st_size and process.poll() is None:
            time.sleep(0.1)
        began = time.time()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_at = time.time()
        time.sleep(SETTLE_SECONDS)
        finished = [line.split() for line in said.read_bytes().splitlines()]
        last = int(finished[-1][-1])
        fact = READERS[variant](logs)
        size = sum(p.stat().st_size for p in logs.rglob("*") if p.is_file())
    return Left(
        variant=variant,
        age_seconds=None if fact.at is None else max(0.0, killed_at - fact.at),
        steps_lost=None if fact.step is None else max(0, last - fact.step),
        megabytes_per_hour=size / (killed_at - began) * 3_600 / 1e6,
        told=fact.told,
        names_cause=fact.names_cause,
    )


def _ours(logs: Path) -> Fact:
    attempt = find_run(logs).latest
    assert attempt is not None
    verdict = judge(attempt, GONE).verdict
    if verdict is None:
        return Fact(attempt.last_seen_at, attempt.last_step, "no cause")
    is_right = verdict.id == "killed_outside"
    return Fact(attempt.last_seen_at, attempt.last_step, verdict.headline, is_right)


def _tensorboard(logs: Path) -> Fact:
    newest, step = None, None
    for path in logs.rglob("*tfevents*"):
        for event in EventFileLoader(str(path)).Load():
            tags = [value.tag for value in event.summary.value]
            # Keras writes the model as a summary of its own, at no step.
            if not tags or tags == ["keras"]:
                continue
            newest = max(newest or 0.0, event.wall_time)
            step = max(step or 0, _step(event, tags))
    return Fact(newest, step, "no end; the last scalar")


def _step(event: Any, tags: list[str]) -> int:
    """Scalars of an epoch stand at its number, those of a batch at the step."""
    if all(tag.startswith("epoch_") for tag in tags):
        return (int(event.step) + 1) * EPOCH_STEPS
    return int(event.step) + 1


def _wandb(logs: Path) -> Fact:
    """Its own messages, from the file that it would send when it is online again."""
    from wandb.proto import wandb_internal_pb2 as pb  # noqa: PLC0415 - an extra

    (path,) = logs.rglob("*.wandb")
    at: float | None = None
    step: int | None = None
    ended = False
    for data in _log_records(path.read_bytes()):
        record = pb.Record.FromString(data)
        ended |= record.WhichOneof("record_type") == "exit"
        for item in record.history.item:
            key = item.key or "/".join(item.nested_key)
            if key == "_timestamp":
                at = max(at or 0.0, float(item.value_json))
            if key in ("batch/batch_step", "batch_step"):
                step = max(step or 0, int(float(item.value_json)) + 1)
    return Fact(at, step, "an exit record" if ended else "no exit record")


# The file is a log of LevelDB: blocks of this size, after a head of seven bytes.
_BLOCK, _FILE_HEAD = 32_768, 7
_FULL, _FIRST, _LAST = 1, 2, 4


def _log_records(data: bytes) -> Iterator[bytes]:
    """Every whole record: checksum (4), length (2), kind (1), then the bytes."""
    at, parts = _FILE_HEAD, b""
    while at + 7 <= len(data):
        room = _BLOCK - at % _BLOCK
        if room < 7:
            at += room
            continue
        length = int.from_bytes(data[at + 4 : at + 6], "little")
        kind, piece = data[at + 6], data[at + 7 : at + 7 + length]
        if not kind or len(piece) < length:
            return
        parts = piece if kind in (_FULL, _FIRST) else parts + piece
        if kind in (_FULL, _LAST):
            yield parts
        at += 7 + length


def _mlflow(logs: Path) -> Fact:
    with sqlite3.connect(logs / "mlflow.db") as database:
        (state,) = database.execute("select status from runs").fetchone()
        (newest,) = database.execute("select max(timestamp) from metrics").fetchone()
    at = None if newest is None else newest / 1_000
    return Fact(at, None, f"the run is {state}")


READERS: dict[str, Callable[[Path], Fact]] = {
    OURS: _ours,
    TENSORBOARD: _tensorboard,
    BY_BATCH: _tensorboard,
    WANDB: _wandb,
    MLFLOW: _mlflow,
}


if __name__ == "__main__":
    for result in ask(1):
        print(result)
