"""ModelCheckpoint waits for a metric whose name is wrong, and saves nothing.

python demo/causes/callback_error.py logs/callback_error
"""

import sys

import keras
from _classes import classifier, fit


def main(logdir: str) -> None:
    save = keras.callbacks.ModelCheckpoint(
        "best.keras", monitor="validation_loss", mode="min", save_best_only=True
    )
    fit(classifier(), logdir, callbacks=[save], validation_split=0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
