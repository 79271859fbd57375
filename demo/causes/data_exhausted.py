"""The dataset ends early, and Keras goes on: most epochs train on next to nothing.

python demo/causes/data_exhausted.py logs/data_exhausted
"""

import sys

from _task import data, model

from tb_health_plugin import HealthCallback

BATCH = 32


def batches(x, y):
    """Goes through the data once, where `while True:` was meant."""
    for first in range(0, len(x), BATCH):
        yield x[first : first + BATCH], y[first : first + BATCH]


def main(logdir: str) -> None:
    x, y = data()
    model().fit(
        batches(x, y),
        steps_per_epoch=50,
        epochs=10,
        verbose=2,
        callbacks=[HealthCallback(logdir)],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
