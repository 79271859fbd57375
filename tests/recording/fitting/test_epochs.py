"""What is told of each epoch of a real training."""

import math

import numpy as np
import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting import parts

pytestmark = pytest.mark.live


@pytest.fixture
def seen(monkeypatch):
    """Each fit, as a part sees it."""
    found = []
    monkeypatch.setattr(parts, "PARTS", (found.append, *parts.PARTS))
    return found


def test_the_loss_of_each_batch_is_found_again(keras, model, data, recorded):
    x, y = data
    expected = []

    class Measures(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            rows = slice(8 * batch, 8 * batch + 8)
            expected.append(float(np.mean((model(x[rows]).numpy() - y[rows]) ** 2)))

    model.fit(
        x,
        y,
        batch_size=8,
        shuffle=False,
        verbose=0,
        callbacks=[Measures(), recorded.callback()],
    )

    epoch = recorded.one(facts.EpochEnded)
    assert epoch.loss_profile == pytest.approx(expected, rel=1e-3)
    assert epoch.lowest_loss == pytest.approx(min(expected), rel=1e-3)
    assert epoch.highest_loss == pytest.approx(max(expected), rel=1e-3)


def test_a_train_step_of_the_program_that_reports_single_batches(keras, data, recorded):
    class Own(keras.Sequential):
        def train_step(self, data):
            super().train_step(data)
            return {"my_loss": self.optimizer.iterations}

    own = Own([keras.Input((4,)), keras.layers.Dense(1)])
    own.compile("sgd", "mse")
    own.fit(*data, batch_size=16, verbose=0, callbacks=[recorded.callback()])

    assert recorded.one(facts.EpochEnded).loss_profile == (1, 2, 3, 4)


def test_validation_is_counted_where_there_is_one(fit, data, recorded):
    fit(
        recorded.callback(),
        validation_data=data,
        validation_batch_size=16,
        validation_freq=2,
    )

    epochs = recorded.all(facts.EpochEnded)
    assert [epoch.validation_steps for epoch in epochs] == [None, 4]
    assert epochs[1].planned_validation_steps == 4
    assert recorded.one(facts.TrainingStarted).planned_validation_steps == 4


def test_the_learning_rate_at_the_end(keras, model, fit, recorded):
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 8, 0.5)
    model.compile(keras.optimizers.SGD(schedule), "mse")
    fit(recorded.callback())

    rates = [epoch.learning_rate for epoch in recorded.all(facts.EpochEnded)]
    assert rates == pytest.approx([0.5, 0.25])


class TestTheFirstLossThatIsNoNumber:
    def test_is_noted_with_its_step(self, keras, model, data, recorded, seen):
        x, y = data[0], data[1].copy()
        y[40] = math.nan
        model.fit(
            x,
            y,
            batch_size=8,
            shuffle=False,
            verbose=0,
            callbacks=[recorded.callback()],
        )

        (fit,) = seen
        assert fit.nonfinite_at == 5

    def test_is_not_there_in_a_healthy_training(self, fit, recorded, seen):
        fit(recorded.callback())

        assert seen[0].nonfinite_at is None
