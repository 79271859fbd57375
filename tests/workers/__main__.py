"""`python -m tests.workers [SCENARIO...] [--repeats N] [--keep DIR]`.

Plays scenarios with real workers again and again, and says whether the right worker and
the right cause were named.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.workers.scenarios import SCENARIOS, play, right


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.workers")
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the log directories here")
    given = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.scenarios or SCENARIOS:
            for number in range(given.repeats):
                logdir = (given.keep or Path(temporary)) / f"{name}-{number}"
                answer = play(name, logdir)
                is_right = right(name, answer)
                wrong += not is_right
                word = "right" if is_right else "WRONG"
                verdict = answer["verdict"]
                cause = f"{verdict['id']}/{verdict['detail']}"
                print(f"{word}  {name:14} {cause:26} {answer['headline']}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
