"""A callback keeps the weights of every step, to look at them later.

python demo/causes/memory_leak.py logs/memory_leak
"""

import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


class KeepsWeights(keras.callbacks.Callback):
    """Never lets go of any of them."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def on_train_batch_end(self, batch, logs=None):
        self.kept.append(self.model.layers[1].get_weights())


def main(logdir: str) -> None:
    x, y = data()
    callbacks = [KeepsWeights(), HealthCallback(logdir)]
    model().fit(x, y, epochs=12, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
