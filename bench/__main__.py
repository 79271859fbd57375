"""`make bench`: asks every question, prints a table for each, and the budgets.

`python -m bench NAME...` asks only those, and keeps what else was measured that day.
"""

import os
import sys
from pathlib import Path
from types import ModuleType

from bench import (
    first_answer,
    floors,
    gpu_cost,
    growth,
    hook_cost,
    judging_cost,
    left_by_a_kill,
    many_workers,
    reading_cost,
    report,
    report_speed,
    tab_speed,
    wait_truth,
    watcher_cost,
)

OUT = Path(__file__).parent / "out"
QUESTIONS = (
    watcher_cost,
    gpu_cost,
    hook_cost,
    left_by_a_kill,
    wait_truth,
    floors,
    reading_cost,
    first_answer,
    judging_cost,
    report_speed,
    many_workers,
    tab_speed,
    growth,
)
# Takes minutes; `python -m bench growth` asks it alone.
NOT_IF_QUICK = (growth,)


def main() -> int:
    quick = bool(os.environ.get("QUICK"))
    rounds = 1 if quick else 7
    made = report.begin(rounds, quick)
    print(made.heading(), flush=True)
    names = sys.argv[1:]
    if names:
        made.keep_earlier(OUT)
    for question in _wanted(names, quick):
        for table in question.ask(rounds):
            made.add(question.__name__.removeprefix("bench."), table)
            print(f"\n{table}", flush=True)
            # Written after each, so that an interrupted measurement is not lost.
            made.write(OUT)
    print(f"\n{made.budgets()}", flush=True)
    return 0


def _wanted(names: list[str], quick: bool) -> list[ModuleType]:
    if names:
        return [q for q in QUESTIONS if q.__name__.removeprefix("bench.") in names]
    return [q for q in QUESTIONS if not (quick and q in NOT_IF_QUICK)]


if __name__ == "__main__":
    sys.exit(main())
