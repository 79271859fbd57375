"""A checkpoint of every epoch is kept, until the disk for them is full.

python demo/causes/disk_full.py logs/disk_full

The disk is a small one that this script mounts for itself; where that is not allowed,
it says so and ends.
"""

import sys
from pathlib import Path

from _own_mounts import enter, small_disk

DISK_MIB = 12


def main(logdir: str) -> None:
    import keras
    from _task import data, model

    from tb_health_plugin import HealthCallback

    folder = Path(logdir).absolute() / "checkpoints"
    small_disk(folder, DISK_MIB)
    keep = keras.callbacks.ModelCheckpoint(folder / "epoch-{epoch:03d}.keras")
    x, y = data(1_024)
    model().fit(x, y, epochs=20, verbose=2, callbacks=[keep, HealthCallback(logdir)])


if __name__ == "__main__":
    enter()
    main(*sys.argv[1:])
