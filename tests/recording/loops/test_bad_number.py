"""The first number that is not finite, made at a known step and place."""

import functools
from pathlib import Path

import numpy as np
import pytest

import tb_health_plugin
from tb_health_plugin.events import facts
from tests.recording.loops.conftest import keras, small_model, step_of, tf

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("time_enough")]
watch = functools.partial(tb_health_plugin.watch, watcher=False)
BAD_STEP = 7


def batches(*, bad: str = ""):
    """Twelve batches; of number `BAD_STEP` one part is not finite."""
    rng = np.random.default_rng(0)
    for number in range(12):
        x = rng.normal(size=(8, 4)).astype("float32")
        y = x.sum(axis=1, keepdims=True)
        if number == BAD_STEP and bad == "input":
            x[3, 2] = np.nan
        if number == BAD_STEP and bad == "target":
            y[5] = np.inf
        yield x, y


@pytest.mark.parametrize("in_a_function", [False, True])
@pytest.mark.parametrize(
    ("part", "name", "row"), [("input", "x", 3), ("target", "y", 5)]
)
def test_it_came_with_the_data(
    tmp_path: Path, model, optimizer, recorded, in_a_function, part, name, row
):
    train_step = step_of(model, optimizer)
    if in_a_function:
        train_step = tf.function(train_step)
    losses = []
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(batches(bad=part)):
            losses.append(float(train_step(tf.constant(x), tf.constant(y))))
            health.step(loss=losses[-1])

    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.seen_in, bad.began_in) == (BAD_STEP, "loss", part)
    assert (bad.name, bad.row, bad.exact) == (name, row, True)
    assert bad.value == ("nan" if part == "input" else "inf")
    assert bad.steps_before == tuple(range(BAD_STEP))
    assert np.allclose(bad.losses_before, losses[:BAD_STEP])


def bad_root(health, model, optimizer, *, in_a_function: bool):
    """At `BAD_STEP` the root of 0 has no gradient, while the loss is fine."""
    weights = model.trainable_variables
    optimizer.build(weights)

    def train_step(x, factor):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.sqrt(tf.abs(model(x) * factor)))
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    if in_a_function:
        train_step = tf.function(train_step)
    for number, (x, _) in enumerate(health.dataset(batches())):
        factor = tf.constant(0.0 if number == BAD_STEP else 1.0)
        health.step(loss=train_step(tf.constant(x), factor))


def test_a_gradient_is_seen_before_the_loss_is_bad(tmp_path: Path, recorded):
    model, optimizer = small_model(), keras.optimizers.SGD(0.01)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        bad_root(health, model, optimizer, in_a_function=False)

    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.seen_in) == (BAD_STEP, "gradient")
    assert (bad.began_in, bad.exact) == ("gradient", True)
    assert set(bad.bad_variables) == {v.path for v in model.trainable_variables}
    assert np.isfinite(bad.gradient_norms_before).all()
    assert len(bad.gradient_norms_before) == BAD_STEP


def test_in_a_function_the_weights_tell(tmp_path: Path, recorded):
    model, optimizer = small_model(), keras.optimizers.SGD(0.01)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        bad_root(health, model, optimizer, in_a_function=True)

    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.seen_in) == (BAD_STEP, "weight")
    assert set(bad.bad_variables) == {v.path for v in model.trainable_variables}


def test_weights_that_were_bad_from_the_start(tmp_path: Path, recorded):
    model, optimizer = small_model(), keras.optimizers.SGD(0.01)
    first = model.weights[0]
    first.assign(np.full(first.shape, np.nan, "float32"))
    train_step = step_of(model, optimizer)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(batches()):
            health.step(loss=train_step(tf.constant(x), tf.constant(y)))

    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.began_in) == (0, "weights")
    assert bad.name == first.path


def test_a_loss_that_is_bad_by_itself(tmp_path: Path, model, optimizer, recorded):
    train_step = step_of(model, optimizer)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for number, (x, y) in enumerate(health.dataset(batches())):
            loss = train_step(tf.constant(x), tf.constant(y))
            health.step(loss=loss / 0.0 if number == BAD_STEP else loss)

    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.value, bad.began_in) == (BAD_STEP, "inf", "unknown")
    assert "batch" in bad.how


def test_a_step_that_a_loss_scale_leaves_out_is_no_bad_number(
    tmp_path: Path, model, recorded
):
    inner = keras.optimizers.SGD(0.01)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**120)
    weights = model.trainable_variables
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(batches()):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
                scaled = optimizer.scale_loss(loss) * 1e9
            optimizer.apply(tape.gradient(scaled, weights), weights)
            health.step(loss=loss)

    assert recorded().all(facts.FirstBadNumber) == []


class OnGpu:
    """A loss that a GPU still works on when the step returns."""

    device = "/job:localhost/replica:0/task:0/device:GPU:0"

    def __init__(self, value: float) -> None:
        self._value = value
        self.is_read = False

    def __float__(self) -> float:
        self.is_read = True
        return self._value


def test_a_loss_on_a_gpu_is_read_one_step_later_and_counts_for_its_own_step(
    tmp_path: Path, recorded
):
    told = []
    with watch(tmp_path) as health:
        for number, (_x, _y) in enumerate(health.dataset(batches(bad="target"))):
            told.append(OnGpu(np.nan if number == BAD_STEP else 1.0))
            health.step(loss=told[-1])
            is_looked_at = number in (0, 1, 3, 10)
            assert told[-1].is_read == is_looked_at
            assert all(loss.is_read for loss in told[:-1])

    assert told[-1].is_read
    (bad,) = recorded().all(facts.FirstBadNumber)
    assert (bad.bad_step, bad.began_in) == (BAD_STEP, "target")
