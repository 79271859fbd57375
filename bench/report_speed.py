"""How much faster are many runs judged on all cores than on one?

`python -m bench.report_speed [--runs N]` copies recorded runs of real trainings until
there are that many, and runs `tb-health report` over them, on one core and on all.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import Result, compare
from tests import runs

RUNS, QUICK_RUNS = 2_000, 200


def fill(logs: Path, count: int) -> None:
    """So many runs, each a recorded one under another name; no byte is copied."""
    names = runs.names()
    for number in range(count):
        name = names[number % len(names)]
        for file in (runs.HERE / name).rglob("*.tfrecord"):
            place = logs / f"{name}_{number:05}" / file.relative_to(runs.HERE / name)
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                place.hardlink_to(file)
            except OSError:
                # Another disk.
                place.write_bytes(file.read_bytes())


def seconds(logs: Path, output: Path, cores: set[int]) -> float:
    """How long the command takes on these cores."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "tb_health_plugin", "report", logs, "-o", output],
        # 1: a problem was found, as there must be in these.
        check=False,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    return time.perf_counter() - began


def ask(rounds: int, count: int = RUNS) -> Iterator[Result]:
    if os.environ.get("QUICK"):
        count = min(count, QUICK_RUNS)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        fill(logs, count)
        out = {n: Path(folder) / f"{n}.jsonl" for n in ("one", "all")}
        yield compare(
            f"`tb-health report` over {count:,} recorded runs",
            {
                f"on all {len(cores)} cores": lambda: seconds(
                    logs, out["all"], set(cores)
                ),
                "on one core": lambda: seconds(logs, out["one"], {cores[0]}),
            },
            unit="s",
            rounds=min(rounds, 3),
        )
        if out["one"].read_bytes() != out["all"].read_bytes():
            raise SystemExit("the answers differ")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.report_speed")
    parser.add_argument("--runs", type=int, default=RUNS)
    for result in ask(3, parser.parse_args().runs):
        print(result)


if __name__ == "__main__":
    main()
