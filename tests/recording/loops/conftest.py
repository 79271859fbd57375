"""Real small loops, and what was recorded of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.recording import attempts, process_end
from tb_health_plugin.recording.loops import bad_number, budget, gradients
from tb_health_plugin.recording.process_end import ProcessEnd

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

BATCHES = 16


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """Each test is a process of its own as far as attempts go."""
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    yield
    end_process()


def end_process() -> None:
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))


@pytest.fixture
def time_enough(monkeypatch):
    """A busy machine looks at the same steps as an idle one."""
    monkeypatch.setattr(budget, "FREE_LOOK_SECONDS", 100.0)
    for part in (gradients, bad_number):
        monkeypatch.setattr(part, "FREE_CHECK_SECONDS", 100.0)


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Attempt]:
    """Ends the process, and reads what it left."""

    def read(logdir: Path = tmp_path) -> Attempt:
        end_process()
        (directory,) = (logdir / "plugins/health").iterdir()
        reader = AttemptReader(directory)
        reader.refresh()
        assert reader.problems == []
        return reader.attempt

    return read


@pytest.fixture
def model():
    return small_model()


@pytest.fixture
def optimizer():
    return keras.optimizers.SGD(0.01)


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCHES * 8, 4)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(8)


def small_model(name: str = "small"):
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, activation="tanh"), layers.Dense(1)],
        name=name,
    )


def step_of(model, optimizer):
    """A training step as tutorials write it."""

    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        weights = model.trainable_variables
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    return train_step
