"""The learning rate is so small that the weights hardly move.

python demo/causes/lr_too_low.py logs/lr_too_low
"""

import sys

from _classes import classifier, fit


def main(logdir: str) -> None:
    fit(classifier(rate=1e-7), logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
