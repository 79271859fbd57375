"""It ends while the loss is still falling as fast as ever.

python demo/causes/undertrained.py logs/undertrained
"""

import sys

from _classes import classifier, fit


def main(logdir: str) -> None:
    fit(classifier(rate=3e-4), logdir, epochs=8)


if __name__ == "__main__":
    main(*sys.argv[1:])
