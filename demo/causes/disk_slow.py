"""A checkpoint after every epoch, to a disk that takes 1 MB a second.

python demo/causes/disk_slow.py logs/disk_slow

Needs root: the slow disk is one that this script makes for itself.
"""

import sys

from _devices import slow_disk

BYTES_PER_SECOND = 1_000_000


def main(logdir: str) -> None:
    import keras
    from _task import data, model

    from tb_health_plugin import HealthCallback

    with slow_disk(BYTES_PER_SECOND) as disk:
        keep = keras.callbacks.ModelCheckpoint(disk / "last.keras")
        x, y = data()
        model().fit(x, y, epochs=5, verbose=2, callbacks=[keep, HealthCallback(logdir)])


if __name__ == "__main__":
    main(*sys.argv[1:])
