"""Each `fit` of a program that knows nothing of us gets our callback, once."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin.recording import keras_pickup

keras = pytest.importorskip("keras")

STEPS = 8


@pytest.fixture
def attempt(attempt, tmp_path: Path):
    """Records all trainings of this process, as long as the test lasts."""
    keras_pickup.pick_up_keras(attempt, tmp_path)
    yield attempt
    del keras.Model.fit
    del keras.optimizers.Optimizer.apply


@pytest.fixture
def model():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def fit(model, *args, **options):
    x = np.ones((64, 4), "float32")
    return model.fit(x, x[:, :1], 8, 1, 0, *args, **options)


class Other(keras.callbacks.Callback):
    calls = 0

    def on_epoch_end(self, epoch, logs=None):
        self.calls += 1


@pytest.mark.parametrize("given", [None, [], (), "one", "list", "nested"])
@pytest.mark.parametrize("by_name", [False, True])
def test_whatever_callbacks_are_given(attempt, model, given, by_name: bool):
    other = Other()
    made = {"one": other, "list": [other], "nested": (other,)}
    callbacks = made.get(given, given) if isinstance(given, str) else given

    if by_name:
        fit(model, callbacks=callbacks)
    else:
        fit(model, callbacks)

    assert attempt.recorder.progress.step == STEPS
    assert other.calls == (1 if isinstance(given, str) else 0)


def test_a_launched_fit_is_the_same_to_the_last_bit(attempt, monkeypatch):
    x = np.random.RandomState(0).rand(64, 4).astype("float32")

    def trained():
        keras.utils.set_random_seed(3)
        layers = [keras.layers.Dense(8), keras.layers.Dropout(0.2)]
        model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1)])
        model.compile("adam", "mse")
        history = model.fit(x, x[:, :1], 8, 2, 0).history
        return history, [weight.tobytes() for weight in model.get_weights()]

    with monkeypatch.context() as without_us:
        without_us.delattr(keras.Model, "fit")
        without_us.delattr(keras.optimizers.Optimizer, "apply")
        bare = trained()
    assert trained() == bare
    assert attempt.recorder.progress.step == 2 * STEPS


def test_a_list_of_the_program_is_as_before(attempt, model):
    other = Other()
    callbacks = [other]

    fit(model, callbacks)

    assert callbacks == [other]


def test_a_callback_list_made_by_the_program(attempt, model):
    given = keras.callbacks.CallbackList([Other()], add_history=True, model=model)
    before = list(given.callbacks)

    fit(model, given)
    fit(model, given)

    assert attempt.recorder.progress.step == 2 * STEPS
    assert given.callbacks == before


def test_a_model_of_each_kind(attempt):
    inputs = keras.Input((4,))

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

    functional = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    for model in (Own(), functional):
        model.compile("sgd", "mse")
        fit(model)

    assert attempt.trainings == 2
    assert attempt.recorder.progress.step == 2 * STEPS


def test_a_callback_of_the_program_for_the_same_directory(
    attempt, model, tmp_path: Path
):
    from tb_health_plugin import HealthCallback

    fit(model, [HealthCallback(tmp_path)])

    assert attempt.trainings == 1
    assert attempt.recorder.progress.step == STEPS


def test_a_mistake_in_the_call_is_told_by_keras(attempt, model, caplog):
    with pytest.raises(TypeError, match="fit\\(\\) got an unexpected keyword"):
        fit(model, epoch=3)

    assert caplog.records == []


def test_a_fault_of_ours_does_not_reach_fit(attempt, model, monkeypatch, caplog):
    def broken(logdir: Path) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(keras_pickup, "_callback", broken)

    history = fit(model)

    assert len(history.history["loss"]) == 1
    assert len(caplog.records) == 1


def test_an_import_is_followed_and_looks_as_without_us(tmp_path: Path, monkeypatch):
    (tmp_path / "seen_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = []
    follower = keras_pickup._AfterImport(
        "seen_later", lambda: told.append(sys.modules["seen_later"].value)
    )
    monkeypatch.setattr(sys, "meta_path", [follower, *sys.meta_path])

    import seen_later

    assert told == [1]
    assert follower not in sys.meta_path
    assert vars(seen_later.__spec__.loader).keys() == {"name", "path"}


def test_an_import_that_fails_fails_as_without_us(tmp_path: Path, monkeypatch):
    (tmp_path / "fails_later.py").write_text("raise OSError('gone')\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = []
    follower = keras_pickup._AfterImport("fails_later", lambda: told.append(1))
    monkeypatch.setattr(sys, "meta_path", [follower, *sys.meta_path])

    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            import fails_later  # noqa: F401

    assert told == []
