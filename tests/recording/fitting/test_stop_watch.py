"""Who asked a training to stop."""

import pickle
import threading

import pytest

from tb_health_plugin.events import facts

pytestmark = pytest.mark.live


def test_a_callback_of_keras(keras, fit, recorded):
    stopper = keras.callbacks.EarlyStopping("loss", patience=1, min_delta=10)
    history = fit(recorded.callback(), stopper, epochs=9)

    stop = recorded.one(facts.StopRequested)
    assert (stop.callback, stop.is_keras, stop.file) == ("EarlyStopping", True, None)
    assert (stop.monitor, stop.wait, stop.patience) == ("loss", 1, 1)
    assert stop.epoch == 1
    assert stop.value == pytest.approx(history.history["loss"][-1])
    assert stop.best == pytest.approx(history.history["loss"][0])
    assert stop.settings["min_delta"] == "-10"
    assert recorded.one(facts.TrainingEnded).reason == "returned"


def test_a_callback_of_the_program(keras, fit, recorded):
    class Enough(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.limit = 3

        def on_train_batch_end(self, batch, logs=None):
            if batch == self.limit:
                self.model.stop_training = True

    fit(recorded.callback(), Enough())

    stop = recorded.one(facts.StopRequested)
    assert (stop.callback, stop.is_keras) == ("Enough", False)
    assert (stop.file, stop.function) == (__file__, "on_train_batch_end")
    assert stop.settings == {"limit": "3"}
    assert recorded.one(facts.TrainingEnded).last_step == 4


def test_a_function_of_the_program(keras, model, fit, recorded):
    def stop_it(epoch, logs):
        model.stop_training = True

    fit(recorded.callback(), keras.callbacks.LambdaCallback(on_epoch_end=stop_it))

    stop = recorded.one(facts.StopRequested)
    assert (stop.callback, stop.file) == ("LambdaCallback (stop_it)", __file__)
    assert stop.function == "stop_it"


def test_no_callback_at_all(keras, model, fit, recorded):
    class Waits(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            other = threading.Thread(target=self.stop)
            other.start()
            other.join()

        @staticmethod
        def stop():
            model.stop_training = True

    fit(recorded.callback(), Waits())

    stop = recorded.one(facts.StopRequested)
    assert (stop.callback, stop.function) == (None, "stop")


def test_a_training_that_nobody_stops(fit, recorded):
    fit(recorded.callback())

    assert recorded.all(facts.StopRequested) == []


def test_models_of_one_class_and_its_child_at_once(keras, model, data, recorded):
    class Child(keras.Sequential):
        pass

    child = Child([keras.Input((4,)), keras.layers.Dense(1)])
    child.compile("sgd", "mse")

    class Nested(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            stop = keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: setattr(child, "stop_training", True)
            )
            child.fit(*data, epochs=5, verbose=0, callbacks=[recorded.callback(), stop])
            assert not self.model.stop_training

    model.fit(*data, epochs=1, verbose=0, callbacks=[recorded.callback(), Nested()])

    assert recorded.one(facts.StopRequested).training == 1
    assert child.stop_training is True
    assert "stop_training" not in vars(Child)
    assert "stop_training" not in vars(keras.Sequential)


def test_a_class_with_a_property_of_its_own_is_left_alone(keras, data, recorded):
    class Own(keras.Sequential):
        @property
        def stop_training(self):
            return vars(self).get("_stop", False)

        @stop_training.setter
        def stop_training(self, value):
            vars(self)["_stop"] = value

    own = Own([keras.Input((4,)), keras.layers.Dense(1)])
    own.compile("sgd", "mse")
    before = Own.stop_training

    own.fit(*data, epochs=1, verbose=0, callbacks=[recorded.callback()])

    assert Own.stop_training is before


# Keras' own, under numpy 2.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_model_is_pickled_and_cloned_during_fit(keras, fit, recorded):
    copies = []

    class Copies(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            copies.append(pickle.loads(pickle.dumps(self.model)))
            copies.append(keras.models.clone_model(self.model))

    fit(recorded.callback(), Copies(), epochs=1)

    for copied in copies:
        copied.stop_training = True
        assert copied.count_params() == 5
    assert recorded.all(facts.StopRequested) == []
    assert recorded.all(facts.RecordingStopped) == []
