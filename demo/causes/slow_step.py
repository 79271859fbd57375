"""run_eagerly=True was left over from debugging.

python demo/causes/slow_step.py logs/slow_step
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    model = classifier(*(keras.layers.Dense(64) for _ in range(8)))
    model.compile(model.optimizer, "sparse_categorical_crossentropy", run_eagerly=True)
    fit(model, logdir, epochs=6)


if __name__ == "__main__":
    main(*sys.argv[1:])
