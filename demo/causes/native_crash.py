"""A native library reads memory that is not there: SIGSEGV, without a traceback.

python demo/causes/native_crash.py logs/native_crash
"""

import ctypes
import sys

import keras
from _task import data, model

from tb_health_plugin import HealthCallback


class DrawsPictures(keras.callbacks.Callback):
    """Calls a C function with a pointer that leads nowhere."""

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 4:
            ctypes.string_at(1)


def main(logdir: str) -> None:
    x, y = data()
    callbacks = [DrawsPictures(), HealthCallback(logdir)]
    model().fit(x, y, epochs=12, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
