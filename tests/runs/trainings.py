"""Small real trainings, each with one fault: raw material for `scrub.py`.

    python -m tests.runs.trainings NAME LOGDIR

A name is the verdict it is made for, or begins with "healthy".
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tb_health_plugin import HealthCallback, watch

ROWS, FEATURES, CLASSES = 1_024, 12, 4
Layers = keras.layers
Trained = Callable[[Path], None]


def classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows that belong to one of four classes, which a small model can tell apart."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES)).astype("float32")
    y = (x @ rng.normal(size=(FEATURES, CLASSES))).argmax(axis=1)
    return x, y


def classifier(*hidden: Any, rate: float = 1e-3, **dense: Any) -> keras.Model:
    hidden = hidden or (Layers.Dense(32, activation="relu", **dense),)
    last = Layers.Dense(CLASSES, activation="softmax", **dense)
    model = keras.Sequential([keras.Input((FEATURES,)), *hidden, last])
    model.compile(
        keras.optimizers.Adam(rate),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def fit(model: keras.Model, logdir: Path, epochs: int = 12, **more: Any):
    x, y = more.pop("data", None) or classes()
    callbacks = [*more.pop("callbacks", ()), HealthCallback(logdir)]
    model.fit(x, y, epochs=epochs, verbose=0, callbacks=callbacks, **more)


def bad_init(logdir: Path) -> None:
    zeros = {"kernel_initializer": "zeros"}
    hidden = [Layers.Dense(24, activation="relu", **zeros) for _ in range(2)]
    fit(classifier(*hidden, **zeros), logdir)


def callback_stop(logdir: Path) -> None:
    stop = keras.callbacks.EarlyStopping("loss", mode="max", patience=2)
    fit(classifier(), logdir, epochs=30, callbacks=[stop])


def checkpoint_failure(logdir: Path) -> None:
    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with contextlib.suppress(OSError):
                self.model.save("no/such/folder/model.keras")

    fit(classifier(), logdir, callbacks=[Keep()])


def callback_error(logdir: Path) -> None:
    save = keras.callbacks.ModelCheckpoint(
        "best.keras", monitor="validation_loss", mode="min", save_best_only=True
    )
    fit(classifier(), logdir, callbacks=[save], validation_split=0.2)


def lr_too_low(logdir: Path) -> None:
    fit(classifier(rate=1e-7), logdir)


def not_learning(logdir: Path) -> None:
    x, y = classes()
    mixed = np.random.default_rng(5).permutation(y)
    fit(classifier(Layers.Dense(4, activation="relu")), logdir, data=(x, mixed))


def over_regularised(logdir: Path) -> None:
    strong = keras.regularizers.L2(2.0)
    hidden = Layers.Dense(32, activation="relu", kernel_regularizer=strong)
    fit(classifier(hidden, kernel_regularizer=strong), logdir)


def retracing(logdir: Path) -> None:
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
            # A Python number makes a new graph each time; a tensor would not.
            health.step(loss=step(x[rows], y[rows], number))


def undertrained(logdir: Path) -> None:
    fit(classifier(rate=3e-4), logdir, epochs=8)


def unscaled_data(logdir: Path) -> None:
    rng = np.random.default_rng(3)
    x, _ = classes()
    y = 400_000 + 90_000 * x[:, :1] + rng.normal(size=(ROWS, 1))
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            Layers.Dense(16, activation="relu"),
            Layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    fit(model, logdir, data=(x, y))


def vanishing_gradients(logdir: Path) -> None:
    deep = [Layers.Dense(16, activation="sigmoid") for _ in range(9)]
    fit(classifier(*deep), logdir)


def healthy_early_stop(logdir: Path) -> None:
    stop = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    fit(classifier(rate=2e-2), logdir, 60, callbacks=[stop], validation_split=0.25)


def healthy_regression(logdir: Path) -> None:
    x, _ = classes(4)
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            Layers.Dense(32, activation="tanh"),
            Layers.Dropout(0.2),
            Layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mse")
    fit(model, logdir, 25, data=(x, np.sin(x[:, :1]) + x[:, 1:2]))


def healthy_decay(logdir: Path) -> None:
    schedule = keras.optimizers.schedules.CosineDecay(1e-2, 32 * 15)
    fit(classifier(rate=schedule), logdir, 15, validation_split=0.2)


TRAININGS: dict[str, Trained] = {
    one.__name__: one
    for one in (
        bad_init,
        callback_error,
        callback_stop,
        checkpoint_failure,
        lr_too_low,
        not_learning,
        over_regularised,
        retracing,
        undertrained,
        unscaled_data,
        vanishing_gradients,
        healthy_early_stop,
        healthy_regression,
        healthy_decay,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name", choices=TRAININGS)
    parser.add_argument("logdir", type=Path)
    options = parser.parse_args()
    tf.random.set_seed(1)
    keras.utils.set_random_seed(1)
    logdir = options.logdir.resolve()
    logdir.mkdir(parents=True, exist_ok=True)
    # What a training saves goes there, too.
    os.chdir(logdir)
    TRAININGS[options.name](logdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
