"""Where the time of a training went."""

import gc
import itertools

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting import live_objects, parts, time_spent
from tb_health_plugin.recording.fitting.callback_watch import CallbackWatch
from tb_health_plugin.recording.fitting.live_objects import LiveObjects
from tb_health_plugin.recording.fitting.trace_count import trace_count

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch):
    """Only the parts that matter here."""
    monkeypatch.setattr(parts, "PARTS", (CallbackWatch, trace_count))
    monkeypatch.setattr(time_spent, "_live_objects", LiveObjects())


def test_stretches_follow_each_other_without_a_gap(fit, recorded, monkeypatch):
    monkeypatch.setattr(time_spent, "PERIOD_SECONDS", 0.0)
    fit(recorded.callback())

    spent = recorded.all(facts.TimeSpent)
    assert len(spent) > 2
    assert sum(fact.steps for fact in spent) == 16
    for one, following in itertools.pairwise(spent):
        assert following.since == pytest.approx(one.since + one.seconds, abs=0.05)


def test_a_training_with_validation(fit, data, recorded):
    fit(recorded.callback(), validation_data=data, validation_batch_size=16)

    spent = recorded.spent()
    assert (spent.training, spent.epoch, spent.steps) == (0, 1, 16)
    assert spent.validation_steps == 8
    assert 0 < spent.validation_seconds < spent.seconds
    assert 0 < spent.recording_seconds < spent.seconds
    first = recorded.all(facts.TimeSpent)[0]
    assert first.python_objects > first.tensors > 0
    assert first.variables > 0


def test_garbage_collections_are_timed(keras, fit, recorded):
    collect = keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: gc.collect())
    fit(recorded.callback(), collect)

    assert recorded.spent().gc_seconds > 0


def test_tensors_that_a_callback_keeps_are_counted_and_their_place_is_named(
    keras, fit, recorded, monkeypatch
):
    tf = pytest.importorskip("tensorflow")
    monkeypatch.setattr(time_spent, "SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr(live_objects, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(live_objects, "SHARE", 1e9)
    monkeypatch.setattr(live_objects, "AT_MOST_SECONDS", 1e9)

    class Keeper(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.kept = []

        def on_epoch_begin(self, epoch, logs=None):
            self.kept.extend(tf.constant(float(one)) for one in range(700))
            # Only what survived collections is looked through.
            gc.collect()

    fit(Keeper(), recorded.callback(), epochs=3)

    spent = recorded.all(facts.TimeSpent)
    assert spent[2].tensors - spent[0].tensors >= 1400
    told = [one.tensors_kept_by for one in spent if one.tensors_kept_by]
    assert told[0] == "a list of 1,400 tensors, called Keeper.kept"


class TestTraces:
    def test_one_for_training_and_one_for_validation(self, fit, data, recorded):
        fit(recorded.callback(), validation_data=data)

        assert recorded.spent().traces == 2

    def test_none_the_second_time(self, fit, recorded):
        callback = recorded.callback()
        fit(callback)
        fit(callback)

        stretches = recorded.all(facts.TimeSpent)
        for training, traces in ((0, 1), (1, 0)):
            told = [f.traces for f in stretches if f.training == training]
            assert sum(told) == traces

    def test_a_callback_that_makes_the_model_be_traced_again(
        self, keras, fit, data, recorded
    ):
        class Retraces(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.model.make_predict_function(force=True)
                self.model.predict(data[0], verbose=0)

        fit(recorded.callback(), Retraces(), epochs=3)

        assert recorded.spent().traces == 1 + 3

    def test_steps_that_run_without_a_graph_trace_nothing(self, model, fit, recorded):
        model.compile("sgd", "mse", run_eagerly=True)
        fit(recorded.callback())

        assert recorded.spent().traces == 0
