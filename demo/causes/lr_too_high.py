"""The learning rate is a few hundred times too high, and the loss leaves all bounds.

python demo/causes/lr_too_high.py logs/lr_too_high
"""

import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


def main(logdir: str) -> None:
    x, y = data()
    too_fast = model(keras.optimizers.SGD(3.0))
    too_fast.fit(x, y, epochs=6, verbose=2, callbacks=[HealthCallback(logdir)])


if __name__ == "__main__":
    main(*sys.argv[1:])
