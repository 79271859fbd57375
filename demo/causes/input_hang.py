"""The thread that loads batches dies, and the training waits for the next for ever.

python demo/causes/input_hang.py logs/input_hang      (Ctrl-C ends it)
"""

import queue
import sys
import threading

from _task import data, model

from tb_health_plugin import HealthCallback

BATCH = 32
loaded: queue.Queue = queue.Queue(maxsize=8)


def load_batches() -> None:
    x, y = data()
    while True:
        for first in range(0, len(x), BATCH):
            loaded.put((x[first : first + BATCH], y[first : first + BATCH]))
        x, y = x[:-BATCH], y[:-BATCH]
        if len(x) < 3_700:
            return


def batches():
    while True:
        yield loaded.get()


def main(logdir: str) -> None:
    threading.Thread(target=load_batches, name="loader", daemon=True).start()
    model().fit(
        batches(),
        steps_per_epoch=128,
        epochs=100,
        verbose=2,
        callbacks=[HealthCallback(logdir)],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
