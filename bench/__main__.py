"""`make bench`: asks every question and prints a table for each."""

import os
import sys
from pathlib import Path

from bench import (
    gpu_cost,
    hook_cost,
    judging_cost,
    reading_cost,
    report,
    report_speed,
    tab_speed,
    watcher_cost,
)

OUT = Path(__file__).parent / "out"
QUESTIONS = (
    watcher_cost,
    gpu_cost,
    hook_cost,
    reading_cost,
    judging_cost,
    report_speed,
    tab_speed,
)


def main() -> int:
    quick = bool(os.environ.get("QUICK"))
    rounds = 3 if quick else 7
    made = report.begin(rounds, quick)
    print(made.heading(), flush=True)
    for question in QUESTIONS:
        for table in question.ask(rounds):
            made.tables.append((question.__name__.removeprefix("bench."), table))
            print(f"\n{table}", flush=True)
            # Written after each, so that an interrupted measurement is not lost.
            made.write(OUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
