"""What `fit` was called with."""

import pytest

from tb_health_plugin.recording.fitting import parts

pytestmark = pytest.mark.live


@pytest.fixture
def seen(monkeypatch):
    """The arguments of each fit, as a part sees them."""
    found = []

    def look(fit):
        found.append((dict(fit.arguments), list(fit.callbacks), fit))

    monkeypatch.setattr(parts, "PARTS", (look, *parts.PARTS))
    return found


def test_arguments_are_seen_by_name(keras, fit, data, recorded, seen):
    callback, other = recorded.callback(), keras.callbacks.TerminateOnNaN()
    fit(other, callback, shuffle=False, validation_data=data, class_weight={0: 1.0})

    ((arguments, callbacks, _),) = seen
    assert arguments["x"] is data[0]
    assert arguments["validation_data"] is data
    assert (arguments["batch_size"], arguments["shuffle"]) == (8, False)
    assert arguments["class_weight"] == {0: 1.0}
    assert not {"self", "callbacks", "epoch_iterator"} & set(arguments)
    assert callbacks[:2] == [other, callback]


def test_data_is_let_go_with_the_first_epoch(fit, recorded, seen):
    fit(recorded.callback())

    ((_, _, fit),) = seen
    assert "x" not in fit.arguments
    assert fit.arguments["batch_size"] == 8


def test_a_model_with_a_fit_of_its_own(keras, data, recorded, seen):
    class Own(keras.Sequential):
        def fit(self, *args, **kwargs):
            return super().fit(*args, batch_size=16, **kwargs)

    own = Own([keras.Input((4,)), keras.layers.Dense(1)])
    own.compile("sgd", "mse")
    own.fit(*data, verbose=0, callbacks=[recorded.callback()])

    ((arguments, _, _),) = seen
    assert arguments["batch_size"] == 16


def test_a_loop_that_calls_callbacks_itself(keras, model, recorded, seen):
    made = keras.callbacks.CallbackList([recorded.callback()], model=model, epochs=1)
    made.on_train_begin()
    made.on_train_end()

    ((arguments, callbacks, _),) = seen
    assert arguments == {}
    assert len(callbacks) == 1
