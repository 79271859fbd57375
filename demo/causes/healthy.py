"""A training that does what it should. The others are its twins, each with a fault.

python demo/causes/healthy.py logs/healthy
"""

import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


def main(logdir: str) -> None:
    x, y = data()
    model().fit(
        x,
        y,
        epochs=12,
        validation_split=0.1,
        verbose=2,
        callbacks=[
            keras.callbacks.TensorBoard(logdir, write_graph=False),
            HealthCallback(logdir),
        ],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
