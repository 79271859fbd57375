"""The event files of a summary writer lose what comes after their disk is full.

python demo/causes/events_lost.py logs/events_lost

TensorFlow raises nothing, and training goes on. The disk is a small one that this
script mounts for itself; where that is not allowed, it says so and ends.
"""

import sys
from pathlib import Path

from _own_mounts import enter, small_disk

DISK_MIB = 16


def main(logdir: str) -> None:
    import keras
    import tensorflow as tf
    from _task import data, model

    from tb_health_plugin import HealthCallback

    folder = Path(logdir).absolute() / "events"
    small_disk(folder, DISK_MIB)
    learner, writer = model(), tf.summary.create_file_writer(str(folder))

    class Keep(keras.callbacks.Callback):
        """Writes the weights of each epoch: about 1 MiB."""

        def on_epoch_end(self, epoch, logs=None):
            with writer.as_default():
                tf.summary.write("weights", learner.layers[1].kernel, step=epoch)

    learner.fit(
        *data(2_048), epochs=40, verbose=2, callbacks=[Keep(), HealthCallback(logdir)]
    )


if __name__ == "__main__":
    enter()
    main(*sys.argv[1:])
