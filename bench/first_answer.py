"""How long until TensorBoard answers about 1, 100 and 1,000 runs, and in what memory?

Ours beside TensorBoard's own Scalars, on as many points, with both of its loaders. Each
server starts on one kind of files alone. Cold: from the start of the process until all
runs are known. Warm: the same question again.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import many_runs
from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until

SIZES, QUICK_SIZES = (1, 100, 1_000), (100,)
LOADERS = {"default loader": (), "--load_fast=false": ("--load_fast=false",)}
MOST_SECONDS = 600.0
STEPS = 100


@dataclass(frozen=True)
class Answered:
    """One server."""

    what: str
    loader: str
    runs: int
    cold_seconds: float
    warm_seconds: float
    memory_mib: float

    @property
    def row(self) -> str:
        return (
            f"| {self.what} | {self.loader} | {self.runs:,} | {self.cold_seconds:.2f} "
            f"| {self.warm_seconds * 1e3:.1f} | {self.memory_mib:.0f} |"
        )


@dataclass(frozen=True)
class Answers:
    """All servers as one table."""

    servers: tuple[Answered, ...]

    def __str__(self) -> str:
        points = many_runs.SMALL_SAMPLES
        return "\n".join(
            [
                f"### Time to the first answer, {points} points in each run\n",
                "| what | loader | runs | cold, s | warm, ms | memory, MiB |",
                "| --- | --- | --- | --- | --- | --- |",
                *(one.row for one in self.servers),
                "\nMemory is that of TensorBoard, its loader and TensorFlow.",
            ]
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "question": "Time to the first answer",
            "servers": [vars(one) for one in self.servers],
        }


def ask(rounds: int) -> list[Answers]:
    sizes = QUICK_SIZES if os.environ.get("QUICK") else SIZES
    found = []
    for runs in sizes:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder) / "ours", Path(folder) / "theirs"
            for number in range(runs):
                name, began = f"run_{number:04}", 1.763e9 + number
                size = (many_runs.SMALL_SAMPLES, STEPS)
                many_runs.attempt(ours / name, began, *size, fails=False)
                (theirs / name).mkdir(parents=True)
                many_runs.scalars(theirs / name, began, *size)
            for loader in LOADERS:
                found.append(_serve("Training Health", loader, ours, runs, _health))
                found.append(_serve("Scalars", loader, theirs, runs, _scalars))
    return [Answers(tuple(found))]


def _serve(
    what: str,
    loader: str,
    logs: Path,
    runs: int,
    answer: Callable[[TensorBoardServer], int],
) -> Answered:
    arguments = ["--logdir", str(logs), "--reload_interval=1", *LOADERS[loader]]
    began = time.perf_counter()
    with tensorboard(arguments) as server:
        wait_until(lambda: answer(server) == runs, seconds=MOST_SECONDS)
        cold = time.perf_counter() - began
        warm = min(_seconds(lambda: answer(server)) for _ in range(5))
        return Answered(what, loader, runs, cold, warm, _memory(server.process.pid))


def _health(server: TensorBoardServer) -> int:
    answer = server.json("/data/plugin/health/runs")
    return len(answer["runs"]) if answer["reading"]["complete"] else -1


def _scalars(server: TensorBoardServer) -> int:
    """All tags, and the points of one run: what its page asks for first."""
    tags = server.json("/data/plugin/scalars/tags")
    known = [run for run, own in tags.items() if many_runs.SCALARS_TAG in own]
    if known:
        query = f"?run={known[0]}&tag={many_runs.SCALARS_TAG}"
        points = server.json(f"/data/plugin/scalars/scalars{query}")
        if len(points) < many_runs.SMALL_SAMPLES:
            return -1
    return len(known)


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _memory(pid: int) -> float:
    """Of the process and its children, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return float(resident.split()[1]) / 1024 + sum(_memory(int(c)) for c in children)


if __name__ == "__main__":
    for result in ask(1):
        print(result)
