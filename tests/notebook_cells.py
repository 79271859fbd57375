"""Cells of a notebook, one after the other in IPython; prints what is said after each.

python -m tests.notebook_cells LOGDIR
"""

import json
import sys
import time

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
REFUSED = "model.fit('no data', epochs=5, verbose=0, callbacks=[at, health]);"
CELLS = {
    "before": "model.fitt",
    "refused": REFUSED,
    "raised": f"at.error = ValueError('mistyped'); {FIT}",
    "interrupted": f"at.error = KeyboardInterrupt(); {FIT}",
    "run again": f"at.error = None; {FIT}",
    # A cell about something else, when a training is over.
    "elsewhere": "1 / 0",
    "refused later": REFUSED,
    # Made anew, as happens when all cells are run again.
    "all again": f"health = HealthCallback({{logdir!r}}); {FIT}",
}


def told(health, before):
    """What is said once it is written; a person does not ask within milliseconds."""
    known = [one["headline"] for one in before.values()]
    until = time.monotonic() + 2.0
    while True:
        answer = health.summary().answer
        if answer["headline"] not in known[-1:] or time.monotonic() > until:
            return answer
        time.sleep(0.1)


def main(logdir: str) -> None:
    shell = InteractiveShell.instance()
    shell.run_cell(MAKE.format(logdir=logdir)).raise_error()
    said = {}
    for name, cell in CELLS.items():
        shell.run_cell(cell.format(logdir=logdir))
        answer = told(shell.user_ns["health"], before=said)
        said[name] = {key: answer[key] for key in ("state", "attempts", "headline")}
    sys.__stdout__.write(f"\n{json.dumps(said)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
