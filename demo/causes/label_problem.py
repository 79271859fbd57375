"""Labels are counted from 1 to 4; the model knows 0 to 3.

python demo/causes/label_problem.py logs/label_problem
"""

import sys

from _classes import classes, classifier, fit


def main(logdir: str) -> None:
    x, y = classes()
    fit(classifier(), logdir, data=(x, y + 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
