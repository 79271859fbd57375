"""What some scripts here train on: twelve numbers in, one of four classes out."""

from pathlib import Path
from typing import Any

import keras
import numpy as np

from tb_health_plugin import HealthCallback

ROWS, FEATURES, CLASSES = 1_024, 12, 4


def classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows that belong to one of four classes, which a small model can tell apart."""
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES)).astype("float32")
    y = (x @ rng.normal(size=(FEATURES, CLASSES))).argmax(axis=1)
    return x, y


def classifier(*hidden: Any, rate: Any = 1e-3, **dense: Any) -> keras.Model:
    """A small model for them; `dense` goes to all layers that are not given."""
    hidden = hidden or (keras.layers.Dense(32, activation="relu", **dense),)
    last = keras.layers.Dense(CLASSES, activation="softmax", **dense)
    model = keras.Sequential([keras.Input((FEATURES,)), *hidden, last])
    model.compile(
        keras.optimizers.Adam(rate),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def fit(model: keras.Model, logdir: str | Path, epochs: int = 12, **more: Any) -> None:
    """Trains it, with our callback beside those that are given."""
    x, y = more.pop("data", None) or classes()
    callbacks = [*more.pop("callbacks", ()), HealthCallback(logdir)]
    model.fit(x, y, epochs=epochs, verbose=0, callbacks=callbacks, **more)
