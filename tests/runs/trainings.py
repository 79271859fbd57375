"""Small healthy trainings of several kinds: raw material for `scrub.py`.

    python -m tests.runs.trainings NAME LOGDIR

Those with a fault are scripts in `demo/causes/`.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

# The scripts there are read alone, and find what they share beside them.
sys.path.insert(0, str(Path(__file__).parents[2] / "demo" / "causes"))

from _classes import FEATURES, classes, classifier, fit

Trained = Callable[[Path], None]


def healthy_early_stop(logdir: Path) -> None:
    stop = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    fit(classifier(rate=2e-2), logdir, 60, callbacks=[stop], validation_split=0.25)


def healthy_regression(logdir: Path) -> None:
    x, _ = classes(4)
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(32, activation="tanh"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mse")
    fit(model, logdir, 25, data=(x, np.sin(x[:, :1]) + x[:, 1:2]))


def healthy_decay(logdir: Path) -> None:
    schedule = keras.optimizers.schedules.CosineDecay(1e-2, 32 * 15)
    fit(classifier(rate=schedule), logdir, 15, validation_split=0.2)


TRAININGS: dict[str, Trained] = {
    one.__name__: one for one in (healthy_early_stop, healthy_regression, healthy_decay)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name", choices=TRAININGS)
    parser.add_argument("logdir", type=Path)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    logdir = options.logdir.resolve()
    logdir.mkdir(parents=True, exist_ok=True)
    # What a training saves goes there, too.
    os.chdir(logdir)
    TRAININGS[options.name](logdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
