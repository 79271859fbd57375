"""Saving fails each time, and the program hides it.

python demo/causes/checkpoint_failure.py logs/checkpoint_failure
"""

import contextlib
import sys

import keras
from _classes import classifier, fit


class Keep(keras.callbacks.Callback):
    """Saves into a folder that is not there."""

    def on_epoch_end(self, epoch, logs=None):
        with contextlib.suppress(OSError):
            self.model.save("no/such/folder/model.keras")


def main(logdir: str) -> None:
    fit(classifier(), logdir, callbacks=[Keep()])


if __name__ == "__main__":
    main(*sys.argv[1:])
