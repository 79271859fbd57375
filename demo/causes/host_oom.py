"""cache() keeps every image in memory, and the container has not enough of it.

python demo/causes/host_oom.py logs/host_oom

Needs the right to make a control group. Without it a limit of the process stands in:
then an allocation is refused, and nothing is killed.
"""

import sys

from _limited import run_limited

LIMIT_MIB = 1_500


def main(logdir: str) -> None:
    import keras
    import tensorflow as tf

    from tb_health_plugin import HealthCallback

    def image(index):
        pixels = tf.random.stateless_uniform((512, 512, 3), seed=[1, index])
        return pixels, tf.reduce_mean(pixels)

    indices = tf.data.Dataset.range(4_000, output_type="int32")
    images = indices.map(image, num_parallel_calls=2).cache().batch(4).prefetch(2)
    model = keras.Sequential(
        [
            keras.Input((512, 512, 3)),
            keras.layers.AveragePooling2D(8),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    model.fit(images, epochs=3, verbose=2, callbacks=[HealthCallback(logdir)])


if __name__ == "__main__":
    run_limited(LIMIT_MIB, main, sys.argv[1:])
