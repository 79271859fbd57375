"""`make bench`: asks every question and prints a table for each."""

import os
import sys
from pathlib import Path

from bench import (
    gpu_cost,
    hook_cost,
    judging_cost,
    reading_cost,
    tab_speed,
    watcher_cost,
)
from bench.measuring import machine

OUT = Path(__file__).parent / "out"
QUESTIONS = (watcher_cost, gpu_cost, hook_cost, reading_cost, judging_cost, tab_speed)


def main() -> int:
    rounds = 3 if os.environ.get("QUICK") else 7
    texts = [f"Measured on {machine()}, {rounds} interleaved rounds."]
    print(texts[0], flush=True)
    for question in QUESTIONS:
        for result in question.ask(rounds):
            texts.append(str(result))
            print(f"\n{result}", flush=True)
    OUT.mkdir(exist_ok=True)
    (OUT / "results.md").write_text("\n\n".join(texts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
