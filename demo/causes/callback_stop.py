"""EarlyStopping takes a falling loss for a bad one, and stops a good training.

python demo/causes/callback_stop.py logs/callback_stop
"""

import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


def main(logdir: str) -> None:
    x, y = data()
    too_early = keras.callbacks.EarlyStopping("loss", mode="max", patience=3)
    callbacks = [too_early, HealthCallback(logdir)]
    model().fit(x, y, epochs=40, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
