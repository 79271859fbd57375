"""Small trainings that together pass by every guarded place.

Each returns what a fault of ours must not change.
"""

import builtins
import contextlib
import logging
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from demo.tensorboard_server import wait_until
from tb_health_plugin.recording import attempts, keras_pickup, process_end
from tb_health_plugin.recording.keras_callback import HealthCallback
from tb_health_plugin.recording.loops.watch import watch
from tb_health_plugin.recording.optimizer_pickup import WHAT, OptimizerPickup
from tb_health_plugin.recording.process_end import ProcessEnd

ROWS = 64
X = np.random.RandomState(0).rand(ROWS, 3).astype("float32") + 0.1
Y = X.sum(axis=1, keepdims=True)

Scenario = Callable[[Path], Any]
_models: dict[str, tuple[Any, list[Any]]] = {}


def end_process() -> None:
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))


def forget_models() -> None:
    """The next training makes its own: something may have stayed on those."""
    _models.clear()


def trained_again(name: str, *, bad: bool = False, **options: Any) -> Any:
    """A model as it was before its first training; traced only once."""
    if name not in _models:
        keras.utils.set_random_seed(1)
        made = [keras.Input((3,)), *([Log()] if bad else []), layers.Dense(1)]
        model = keras.Sequential(made)
        scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01))
        model.compile(keras.optimizers.SGD(0.01) if bad else scaled, "mse", **options)
        model.optimizer.build(model.trainable_variables)
        values = [one.numpy() for one in _variables(model)]
        _models[name] = model, values
    model, values = _models[name]
    for variable, value in zip(_variables(model), values, strict=True):
        variable.assign(value)
    return model


def _variables(model: Any) -> list[Any]:
    return [*model.variables, *model.optimizer.variables]


def bits(model: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in _variables(model)]


class Log(layers.Layer):
    def call(self, x: Any) -> Any:
        return tf.math.log(x)


class Busy(keras.callbacks.Callback):
    """Does what callbacks do: saves, logs, and stops a training."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logging.getLogger().warning("epoch %d", epoch)
        self.model.save_weights(self._folder / "saved.weights.h5")
        if epoch == 1:
            self.model.stop_training = True


def _fit(model: Any, *callbacks: Any, x: Any = X, **options: Any) -> Any:
    options = {"batch_size": 8, "epochs": 2, "verbose": 0, "shuffle": False, **options}
    history = model.fit(x, Y, callbacks=list(callbacks), **options)
    return repr(history.history), bits(model), sorted(vars(model))


def fit(logdir: Path) -> Any:
    """Everything that a healthy `fit` does."""
    model = trained_again("fit")
    callbacks = Busy(logdir.parent), HealthCallback(logdir, watcher=False)
    told = _fit(model, *callbacks, validation_data=(X[:8], Y[:8]))
    end_process()
    return told


def several_steps(logdir: Path) -> Any:
    model = trained_again("several", steps_per_execution=2)
    told = _fit(model, HealthCallback(logdir, watcher=False), epochs=2)
    end_process()
    return told


def bad_number(logdir: Path) -> Any:
    """A layer takes the logarithm of a number below 0."""
    x = X.copy()
    x[8 * 4 + 3] = -1.0
    told = _fit(
        trained_again("bad", bad=True), HealthCallback(logdir, watcher=False), x=x
    )
    end_process()
    return told


def asked_to_stop(logdir: Path) -> Any:
    """The same, and the user wants to hear of it, and to stop."""
    heard = []

    class Tells(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            attempt = attempts.attempt_for(logdir)
            for hear in attempt.hearing.get((), []):
                hear({"kind": "opened", "finding": {}}, attempt.guard)

    model = trained_again("stopped", bad=True)
    callback = HealthCallback(
        logdir,
        watcher=False,
        stop_on=["nan"],
        save_before_stop=logdir.parent / "kept.keras",
        on_finding=heard.append,
    )
    x = X.copy()
    x[3] = -1.0
    # How soon the NaN is known depends on threads: only the stop itself is certain.
    _fit(model, callback, Tells(), x=x, epochs=20)
    end_process()
    return model.stop_training, sorted(vars(model))


def raising(logdir: Path) -> Any:
    """Exceptions that a callback raises, seen by us or not."""

    class Raises(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 3:
                raise ValueError("enough")

    class Unwatched(keras.callbacks.History):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise ValueError("enough")

    model = trained_again("fit")
    for callback in (Raises(), Unwatched()):
        with contextlib.suppress(ValueError):
            _fit(model, callback, HealthCallback(logdir, watcher=False))
    attempt = attempts.attempt_for(logdir)
    wait_until(lambda: not attempt.open or attempt.guard._off)
    end_process()
    return bits(model)


def sweep(logdir: Path) -> Any:
    """One recording after the other, and one that is open when the process ends."""
    model = trained_again("fit")
    told = _fit(model, HealthCallback(logdir / "a", watcher=False))
    watch(logdir / "b", watcher=False)
    end_process()
    return told


class OnGpu(float):
    """A number that is still being worked out."""

    device = "/device:GPU:0"


def loop(logdir: Path) -> Any:
    """A loop of the program's own, in the open."""
    model = trained_again("loop")
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    with watch(logdir, model=model, optimizer=model.optimizer, watcher=False) as health:
        for epoch in range(2):
            for x, y in health.dataset(data):
                loss = _step(model, x, y)
                health.step(loss=OnGpu(loss) if epoch else loss)
            tf.function(lambda x, y: _step(model, x, y))(x, y)
            health.epoch_end(accuracy=1.0)
    end_process()
    return "a loop", bits(model), (sorted(vars(model)), sorted(vars(model.optimizer)))


def loop_that_fetches(logdir: Path) -> Any:
    """A loop that goes over a dataset nobody was told of."""
    model = trained_again("loop")
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    with watch(logdir, model=model, optimizer=model.optimizer, watcher=False) as health:
        for x, y in data:
            health.step(loss=_step(model, x, y))
    end_process()
    return bits(model)


def loop_asked_to_stop(logdir: Path) -> Any:
    """A loop whose loss is no number, and that asks whether to go on."""
    model = trained_again("loop")
    with watch(logdir, model=model, watcher=False, stop_on=["nan"]) as health:
        for step in range(100):
            health.step(loss=math.nan if step else 1.0)
            if health.should_stop:
                break
    end_process()
    return bits(model)


def _step(model: Any, x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    model.optimizer.apply(gradients, model.trainable_variables)
    return loss


def launched(logdir: Path) -> Any:
    """Trainings of a program that knows nothing of us."""
    model = trained_again("fit")
    looked = threading.Event()
    look = OptimizerPickup._look

    def noted(pickup: OptimizerPickup) -> None:
        look(pickup)
        looked.set()

    with (
        _picked_up(logdir) as attempt,
        mock.patch.object(OptimizerPickup, "_look", noted),
    ):
        told = [_fit(model)]
        for _ in range(3):
            _step(model, X[:8], Y[:8])
        # Its thread looks now and then.
        wait_until(lambda: looked.is_set() or attempt.guard.is_off(WHAT))
        told += [_fit(model)]
        end_process()
    return told


@contextlib.contextmanager
def _picked_up(logdir: Path) -> Iterator[Any]:
    attempt = attempts.attempt_for(logdir, watcher=False)
    before = dict(vars(keras.Model)), dict(vars(keras.optimizers.Optimizer))
    keras_pickup.pick_up_keras(attempt, logdir)
    try:
        yield attempt
    finally:
        if "fit" not in before[0] and "fit" in vars(keras.Model):
            del keras.Model.fit
        if "apply" not in before[1] and "apply" in vars(keras.optimizers.Optimizer):
            del keras.optimizers.Optimizer.apply


def notebook(logdir: Path) -> Any:
    """A cell that an exception leaves while a loop is open."""
    calls: list[Any] = []
    events = SimpleNamespace(
        register=lambda _, call: calls.append(call),
        unregister=lambda _, call: calls.remove(call),
    )
    vars(builtins)["get_ipython"] = lambda: SimpleNamespace(events=events)
    try:
        watch(logdir, watcher=False)
        for call in (*calls,):
            call(SimpleNamespace(error_in_exec=ValueError("in a cell")))
        end_process()
    finally:
        del vars(builtins)["get_ipython"]
    return None


SCENARIOS: tuple[Scenario, ...] = (
    fit,
    loop,
    loop_that_fetches,
    several_steps,
    bad_number,
    raising,
    sweep,
    launched,
    notebook,
    asked_to_stop,
    loop_asked_to_stop,
)
