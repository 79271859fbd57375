"""How long does a run of very many workers take to open, and how much memory?

`python -m bench.many_workers [--workers N] [--hours H]` makes a log directory from a
recorded training, stretched to that length, in which one worker is killed at the end
and all others lose it. It then reads, judges and answers as the tab does.
"""

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.measuring import Result
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.server.answers import run_story
from tb_health_plugin.server.view import View
from tb_health_plugin.server.workers import worker_cells
from tb_health_plugin.writing.thinning import written_each
from tests import runs

RECORDED = "healthy"
BEGAN = 1_790_000_000.0
# Workers of one kind have the same numbers; there are so many kinds.
KINDS = 8
STEPS_A_SECOND = 2.0
# A stretch of `TimeSpent` in a small team.
STRETCH_SECONDS = 5.0
MIB = float(1 << 20)


def generate(logs: Path, workers: int, hours: float) -> None:
    """Writes the records of all workers below `logs`."""
    attempt, each = runs.attempt(RECORDED), written_each(workers)
    seconds = hours * 3_600
    root = logs / "run" / HEALTH_DIRECTORY
    for kind in range(min(KINDS, workers)):
        _write_samples(root / _name(kind), attempt, seconds, each, kind)
    for rank in range(workers):
        directory = root / _name(rank)
        if rank >= KINDS:
            directory.mkdir(parents=True)
            samples = str(FileName("samples", 0))
            shutil.copyfile(root / _name(rank % KINDS) / samples, directory / samples)
        _write_records(directory, attempt, rank, workers, seconds, each)


def _name(rank: int) -> str:
    return f"20260921-000000-node{rank:04d}-{rank}-abcdef"


def _write_samples(
    directory: Path, attempt: Attempt, seconds: float, each: int, kind: int
) -> None:
    directory.mkdir(parents=True)
    table = attempt.samples
    names = [name for name in table.names if name != "wall_time"]
    recorded = np.stack([table.column(name) for name in names], axis=1)
    path = directory / str(FileName("samples", 0))
    file = SampleFile(path, names, period_seconds=float(each), now=BEGAN)
    step = names.index("step")
    for number, second in enumerate(range(0, int(seconds), each)):
        row = recorded[number % len(recorded)].copy()
        row[step] = math.floor(second * STEPS_A_SECOND)
        file.append(BEGAN + second + kind / KINDS, row.tolist())
    file.close()


def _write_records(
    directory: Path,
    attempt: Attempt,
    rank: int,
    workers: int,
    seconds: float,
    each: int,
) -> None:
    ended, last = BEGAN + seconds, int(seconds * STEPS_A_SECOND)
    settings = {
        **(attempt.start.settings if attempt.start else {}),
        "worker.by": "TF_CONFIG",
        "worker.role": "worker",
        "worker.rank": str(rank),
        "worker.size": str(workers),
        "worker.job": "0123456789ab",
    }
    begun = attempt.last(facts.TrainingStarted)
    spent = attempt.all(facts.TimeSpent)
    records = EventFile(directory / str(FileName("records", 0)), now=BEGAN)
    records.append_fact(
        facts.RunStarted(
            wall_time=BEGAN,
            host=f"node{rank}",
            pid=rank + 1,
            boot_id=f"boot{rank}",
            settings=settings,
        )
    )
    if begun is not None:
        told = {**begun.settings, "strategy": "CollectiveAllReduceStrategy"}
        records.append_fact(replace(begun, wall_time=BEGAN, step=0, settings=told))
    stretch = STRETCH_SECONDS * each
    for number in range(int(seconds / stretch) if spent else 0):
        at = BEGAN + (number + 1) * stretch
        one = replace(
            spent[number % len(spent)],
            wall_time=at,
            step=int((at - BEGAN) * STEPS_A_SECOND),
            since=at - stretch,
            seconds=stretch,
            steps=int(stretch * STEPS_A_SECOND),
        )
        records.append_fact(one)
    if rank == workers // 2:
        records.append_fact(
            facts.ProcessEnded(wall_time=ended, step=last, signal=9, cgroup_oom_kills=1)
        )
    else:
        lost = f"/job:worker/replica:0/task:{workers // 2}: Socket closed"
        left = facts.TrainingEnded(
            wall_time=ended + 10,
            step=last,
            training=begun.training if begun else 0,
            reason="raised",
            exception="UnavailableError",
            message=lost,
            during="step",
        )
        records.append_fact(left)
    records.close()


def ask(rounds: int) -> list[Result]:
    """The size that was promised, in a process of its own: its memory counts."""
    quick = bool(os.environ.get("QUICK"))
    workers, hours = (100, 1) if quick else (1_000, 24)
    program = [sys.executable, "-m", "bench.many_workers"]
    done = subprocess.run(
        [*program, "--json", f"--workers={workers}", f"--hours={hours}"],
        capture_output=True,
        text=True,
        check=True,
    )
    numbers = json.loads(done.stdout.strip().splitlines()[-1])
    if quick:
        # Fewer workers say nothing of what was promised for a thousand.
        numbers = {f"few: {name}": value for name, value in numbers.items()}
    question = f"A run of {workers:,} workers for {hours} hours"
    return [Result(question, "", numbers, {})]


def measure(logs: Path) -> dict[str, float]:
    """What opening costs, by what is done. Says it as it goes."""
    took: dict[str, float] = {}
    before = _memory()
    view = View(Library([Root(logs)]), clock=lambda: BEGAN + 30 * 86_400)
    _timed(took, "cold: reading and judging, s", view.refresh)
    _timed(took, "looking again, when nothing has changed, s", view.refresh)
    began = time.perf_counter()
    story = _timed(took, "the answer of /run, s", lambda: run_story(view, "run"))
    _timed(took, "the same as text, s", lambda: json.dumps(story))
    _timed(
        took,
        "the answer of /workers, s",
        lambda: worker_cells(view, "run", "step_seconds", buckets=120),
    )
    took["warm: page and map, s"] = time.perf_counter() - began
    took["memory, MiB"] = _memory()
    print(f"{_memory():8.0f} MiB  of memory, {before:.0f} of them before")
    print(f"told: {story['run']['headline']}")
    return took


def _timed(took: dict[str, float], what: str, call):
    began = time.perf_counter()
    result = call()
    took[what] = time.perf_counter() - began
    print(f"{took[what]:8.2f}    {what}", flush=True)
    return result


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.many_workers")
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--json", action="store_true", help="a last line for programs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        generate(logs, given.workers, given.hours)
        size = sum(p.stat().st_size for p in logs.rglob("*") if p.is_file()) / 1e6
        print(f"{given.workers:,} workers for {given.hours:g} hours: {size:,.0f} MB")
        took = measure(logs)
    if given.json:
        print(json.dumps(took))


if __name__ == "__main__":
    main()
