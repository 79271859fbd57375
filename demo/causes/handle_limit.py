"""A callback opens a file for every batch and closes none of them.

python demo/causes/handle_limit.py logs/handle_limit
"""

import resource
import sys
from pathlib import Path

import keras
from _classes import classifier, fit

MOST_FILES = 400


class Notes(keras.callbacks.Callback):
    """Keeps every file that it ever opened."""

    def __init__(self):
        super().__init__()
        self.files = []

    def on_train_batch_end(self, batch, logs=None):
        # What is never closed is the mistake.
        self.files.append(Path("/dev/null").open("w"))  # noqa: SIM115 - see above


def main(logdir: str) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, most))
    fit(classifier(), logdir, 60, callbacks=[Notes()])


if __name__ == "__main__":
    main(*sys.argv[1:])
