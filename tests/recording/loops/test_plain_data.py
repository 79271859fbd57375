"""Loops over a tf.data.Dataset that nobody handed to us."""

import functools
import time
from pathlib import Path

import numpy as np
import pytest

import tb_health_plugin
from tb_health_plugin.events import facts
from tests.recording.loops.conftest import BATCHES, small_model, step_of, tf

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("time_enough")]
watch = functools.partial(tb_health_plugin.watch, watcher=False)
SLEEP_SECONDS = 0.02
ITERATOR = type(iter(tf.data.Dataset.range(1)))
FETCH, MINUS = ITERATOR.__next__, tf.Tensor.__sub__


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert ITERATOR.__next__ is FETCH
    assert tf.Tensor.__sub__ is MINUS


def slow(dataset):
    def sleep(x):
        time.sleep(SLEEP_SECONDS)
        return x

    def pause(x, y):
        slept = tf.numpy_function(sleep, [x], tf.float32)
        slept.set_shape(x.shape)
        return slept, y

    return dataset.map(pause)


def waited(attempt) -> float:
    return sum(one.wait_seconds or 0.0 for one in attempt.all(facts.TimeSpent))


def test_the_wait_for_each_batch_is_measured(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step = step_of(model, optimizer)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in slow(dataset):
            health.step(loss=train_step(x, y))

    attempt = recorded()
    # tf.data may fetch ahead while steps are looked at, but not the first one.
    assert waited(attempt) > SLEEP_SECONDS
    seen = attempt.all(facts.BatchSeen)
    assert [field.role for field in seen[0].fields] == ["input", "target"]
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES
    assert attempt.all(facts.RecordingStopped) == []


def test_data_that_no_step_was_trained_on_is_no_batch(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step = step_of(model, optimizer)
    other = dataset.map(lambda x, y: (x + 1e6, y))
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for _ in range(2):
            for x, y in dataset:
                health.step(loss=train_step(x, y))
            for x, _ in other:
                model(x)

    largest = [
        field.maximum for one in recorded().all(facts.BatchSeen) for field in one.fields
    ]
    assert largest
    assert max(largest) < 1e5


def test_data_that_is_handed_over_is_counted_once(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step = step_of(model, optimizer)
    began = time.perf_counter()
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(slow(dataset)):
            health.step(loss=train_step(x, y))
    took = time.perf_counter() - began

    assert SLEEP_SECONDS < waited(recorded()) < took


def test_an_error_of_the_data_is_told_as_one(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    def fail(x):
        raise ValueError("row 3 is broken")

    broken = dataset.map(lambda x, y: (tf.numpy_function(fail, [x], tf.float32), y))

    def train() -> None:
        with watch(tmp_path, model=model):
            for x, y in broken:
                model(x) - y

    with pytest.raises(tf.errors.InvalidArgumentError):
        train()

    assert recorded().last(facts.TrainingEnded).during == "data"


def test_an_error_after_the_data_is_none_of_the_data(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step = step_of(model, optimizer)

    def train() -> None:
        with watch(tmp_path, model=model, optimizer=optimizer) as health:
            for x, y in dataset:
                health.step(loss=train_step(x, y))
            optimizer.lr = optimizer.no_such_thing * 0.5

    with pytest.raises(AttributeError):
        train()

    assert recorded().last(facts.TrainingEnded).during == "other"


def test_a_fit_inside_of_a_loop_is_left_alone(tmp_path: Path, dataset, recorded):
    model = small_model()
    model.compile("sgd", "mse")
    with watch(tmp_path, model=model) as health:
        model.fit(
            dataset,
            shuffle=False,
            verbose=0,
            callbacks=[tb_health_plugin.HealthCallback(tmp_path)],
        )
        health.step(loss=1.0)

    assert recorded().all(facts.RecordingStopped) == []


@pytest.mark.parametrize(("shape", "told"), [((8,), "(8, 1) and (8,)"), ((8, 1), None)])
def test_an_eager_loss_that_compares_each_with_all(
    tmp_path: Path, model, optimizer, recorded, shape, told
):
    rows = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    targets = rows[:, 0].reshape((64, *shape[1:]))
    dataset = tf.data.Dataset.from_tensor_slices((rows, targets)).batch(8)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((y - model(x)) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            health.step(loss=loss)

    begun = recorded().last(facts.TrainingStarted)
    assert begun.settings.get("loss.stretched") == told
    assert begun.settings["data.kind"] == "tf.data"


@pytest.mark.parametrize("order", ["outputs first", "targets first"])
@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (lambda y: y, "(8, 1) and (8,)"),
        (lambda y: y[:, None], None),
        # Not as many as there are rows: no target.
        (lambda y: np.linspace(0, 1, 5, dtype="float32"), None),
    ],
)
def test_an_eager_loss_that_compares_with_an_array(
    tmp_path: Path, model, optimizer, recorded, targets, told, order
):
    before = tf.Tensor.__sub__, tf.Tensor.__rsub__
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    y = targets(x[:, 0])
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for _ in range(4):
            with tf.GradientTape() as tape:
                difference = model(x) - y if order == "outputs first" else y - model(x)
                loss = tf.reduce_mean(difference**2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            health.step(loss=loss)

    assert (tf.Tensor.__sub__, tf.Tensor.__rsub__) == before
    begun = recorded().all(facts.TrainingStarted)[-1]
    assert begun.settings.get("loss.stretched") == told
