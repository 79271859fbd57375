"""Cells of a notebook, one after the other in IPython; prints what is said after each.

python -m tests.notebook_cells LOGDIR
"""

import json
import sys

from IPython.core.interactiveshell import InteractiveShell

MAKE = """
import keras, numpy as np
from tb_health_plugin import HealthCallback
x = np.random.default_rng(0).normal(size=(256, 4)).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
health = HealthCallback({logdir!r})

class At(keras.callbacks.Callback):
    error = None
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2 and self.error:
            raise self.error
at = At()
"""
FIT = "model.fit(x, x[:, :1], epochs=5, verbose=0, callbacks=[at, health]);"
CELLS = {
    "raised": f"at.error = ValueError('mistyped'); {FIT}",
    "interrupted": f"at.error = KeyboardInterrupt(); {FIT}",
    "run again": f"at.error = None; {FIT}",
    # Made anew, as happens when all cells are run again.
    "all again": f"health = HealthCallback({{logdir!r}}); {FIT}",
}


def main(logdir: str) -> None:
    shell = InteractiveShell.instance()
    shell.run_cell(MAKE.format(logdir=logdir)).raise_error()
    said = {}
    for name, cell in CELLS.items():
        shell.run_cell(cell.format(logdir=logdir))
        answer = shell.user_ns["health"].summary().answer
        said[name] = {key: answer[key] for key in ("state", "attempts", "headline")}
    sys.__stdout__.write(f"\n{json.dumps(said)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
