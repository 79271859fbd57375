"""The rows are sorted by class, and fit() was told not to shuffle them.

python demo/causes/unshuffled_data.py logs/unshuffled_data
"""

import sys

from _classes import classes, classifier, fit


def main(logdir: str) -> None:
    x, y = classes()
    order = y.argsort(kind="stable")
    fit(
        classifier(rate=1e-2),
        logdir,
        data=(x[order], y[order]),
        shuffle=False,
        batch_size=16,
        validation_data=(x, y),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
