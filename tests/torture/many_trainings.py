"""A sweep in one process: nothing that a training held may stay with the next."""

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tests import runs
from tests.torture.chamber import Broken, Chamber
from tests.torture.sweep import STEPS
from tests.torture.victim import PATIENCE_SECONDS
from tests.watching.conftest import ROOT, watchers

TRAININGS = 30
# The allocator keeps what it has; what a training leaves behind shows in the hundreds.
MORE_MIB = 8.0


def torture(rng: random.Random, counts: Counter[str]) -> None:
    sweep(TRAININGS, counts)


def sweep(trainings: int, counts: Counter[str], *options: str) -> None:
    """So many trainings in one process, and what it held meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "tests.torture.sweep"]
        done = subprocess.run(
            [*program, folder, str(trainings), *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Broken(f"exit {done.returncode}: {done.stderr[-500:]}")
        held = [json.loads(line) for line in done.stdout.splitlines()]
        _check_held(held)
        logs = Path(folder)
        wait_until(lambda: not watchers(logs), seconds=PATIENCE_SECONDS)
        _check_runs(logs, trainings)
    counts["trainings"] += trainings


def _check_held(held: list[dict[str, float]]) -> None:
    # The first tenth fills caches and loads code.
    first, last = held[1], held[-1]
    allowed = {"descriptors": 2, "threads": 1, "watchers": 1, "memory_mib": MORE_MIB}
    for what, more in allowed.items():
        if last[what] > first[what] + more:
            raise Broken(f"{what} grow: {first} became {last}")


def _check_runs(logs: Path, trainings: int) -> None:
    found = sorted(logs.glob("*/plugins/health/*"))
    if len(found) != trainings:
        raise Broken(f"{len(found)} of {trainings} trainings are recorded")
    for directory in found:
        reader = AttemptReader(directory)
        reader.refresh()
        if reader.problems or reader.attempt.last_step != STEPS:
            raise Broken(f"{directory} knows {reader.attempt.last_step} steps")
        story = judge(reader.attempt, runs.GONE)
        if story.state != "finished":
            raise Broken(f"{directory.parents[2].name} is {story.state}")


CHAMBER = Chamber(
    name="sweeps",
    promise="a thousand trainings in one process leave nothing behind",
    round=torture,
    share=2.0,
)
