"""A Python number as an argument makes a new graph at every step.

python demo/causes/retracing.py logs/retracing
"""

import sys

import keras
import tensorflow as tf
from _classes import classes, classifier

from tb_health_plugin import watch


def main(logdir: str) -> None:
    x, y = classes()
    model = classifier()
    loss_of = keras.losses.SparseCategoricalCrossentropy()
    optimizer = model.optimizer

    @tf.function
    def step(x, y, number):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(
            zip(tape.gradient(loss, variables), variables, strict=True)
        )
        return loss

    with watch(logdir, model=model, optimizer=optimizer) as health:
        for number in range(120):
            rows = slice(8 * number, 8 * number + 32)
            # A tensor would not make a new graph.
            health.step(loss=step(x[rows], y[rows], number))


if __name__ == "__main__":
    main(*sys.argv[1:])
