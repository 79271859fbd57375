"""`python -m tests.workers [SCENARIO...] [--repeats N] [--keep DIR]`.

Plays scenarios with real workers again and again, and says whether the right worker and
the right cause were named. The last lines say how often, by scenario.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.workers.scenarios import SCENARIOS, play, right


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.workers")
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the log directories here")
    given = parser.parse_args()
    rights: Counter[str] = Counter()
    names = given.scenarios or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            for number in range(given.repeats):
                logdir = (given.keep or Path(temporary)) / f"{name}-{number}"
                answer = play(name, logdir)
                is_right = right(name, answer)
                rights[name] += is_right
                word = "right" if is_right else "WRONG"
                verdict = answer["verdict"]
                cause = f"{verdict['id']}/{verdict['detail']}"
                print(f"{word}  {name:18} {cause:26} {answer['headline']}", flush=True)
    print()
    for name in names:
        print(f"{name:18} {rights[name]:2} of {given.repeats} right")
    return int(rights.total() < given.repeats * len(names))


if __name__ == "__main__":
    sys.exit(main())
