"""What a loss in a `tf.function` compares, read from its graph."""

import numpy as np
import pytest

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.loops import tapes

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

from tb_health_plugin.events import facts  # noqa: E402
from tb_health_plugin.recording.loops.watch import watch  # noqa: E402
from tests.recording.loops.conftest import small_model  # noqa: E402

X, Y = np.ones((8, 4), "float32"), np.ones((8,), "float32")


def stretched(loss, *, rows=None) -> str | None:
    """What is seen of `loss(y, outputs)` where targets have one axis."""
    model = small_model()
    found = []

    @tf.function(
        input_signature=[tf.TensorSpec([rows, 4]), tf.TensorSpec([rows])],
        autograph=False,
    )
    def step(x, y):
        found.append(tapes.stretched_in(loss(y, model(x))))

    step.get_concrete_function()
    return found[0]


@pytest.mark.parametrize(
    "loss",
    [
        lambda y, p: tf.reduce_mean((y - p) ** 2),
        lambda y, p: tf.reduce_mean(tf.abs(p - y)),
        lambda y, p: tf.reduce_mean(tf.math.squared_difference(p, y)),
    ],
)
def test_rows_beside_all_rows_are_seen(loss):
    assert stretched(loss) == "(rows, 1) and (rows,)"
    assert stretched(loss, rows=8) == "(8, 1) and (8,)"


@pytest.mark.parametrize(
    "loss",
    [
        lambda y, p: tf.reduce_mean((y - p[:, 0]) ** 2),
        lambda y, p: tf.reduce_mean((y[:, None] - p) ** 2),
        lambda y, p: keras.losses.mean_squared_error(y, p[:, 0]),
        # Pairs of outputs, and pairs of targets, are compared on purpose.
        lambda y, p: tf.reduce_mean(tf.nn.relu(p - p[:, 0])),
        lambda y, p: tf.reduce_sum((y[:, None] - y) * 1.0) + tf.reduce_sum(p),
    ],
)
def test_what_is_meant_so_is_left_alone(loss):
    assert stretched(loss) is None


def test_a_loop_tells_it_and_leaves_the_tape_as_it_was(tmp_path, recorded):
    before = tf.GradientTape.gradient
    model, optimizer = small_model(), keras.optimizers.SGD(0.01)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    with watch(tmp_path, model=model, optimizer=optimizer, watcher=False) as health:
        for _ in range(3):
            health.step(loss=step(X, Y))

    assert tf.GradientTape.gradient is before
    told = recorded().all(facts.TrainingStarted)[-1]
    assert told.settings["loss.stretched"] == "(8, 1) and (8,)"


def test_a_loop_that_tells_no_loss_has_the_one_of_its_tape(tmp_path, recorded):
    model, optimizer = small_model(), keras.optimizers.SGD(0.01)
    weights = model.trainable_variables
    inputs, losses = tf.constant(X), []
    with watch(tmp_path, model=model, optimizer=optimizer, watcher=False):
        for _ in range(3):
            with tf.GradientTape() as tape:
                with tf.GradientTape() as inner:
                    inner.watch(inputs)
                    outputs = tf.reduce_sum(model(inputs))
                # A penalty: a gradient of outputs, by inputs. It is no loss.
                slope = inner.gradient(outputs, inputs)
                loss = tf.reduce_mean(slope**2)
            losses.append(float(loss))
            optimizer.apply(tape.gradient(loss, weights[:1]), weights[:1])

    (epoch,) = recorded().all(facts.EpochEnded)
    assert (epoch.lowest_loss, epoch.highest_loss) == (min(losses), max(losses))


@pytest.mark.parametrize(
    ("target", "sources", "is_kept"),
    [
        (lambda: tf.constant(1.0), lambda: [tf.Variable(1.0)], True),
        (lambda: tf.ones(8), lambda: {"w": [tf.Variable(1.0)]}, True),
        (lambda: tf.ones((8, 1)), lambda: [tf.Variable(1.0)], False),
        (lambda: [tf.constant(1.0)], lambda: [tf.Variable(1.0)], False),
        (lambda: tf.constant(1.0), lambda: [tf.constant(1.0)], False),
        (lambda: tf.constant(1.0), list, False),
    ],
)
def test_only_a_loss_is_kept_and_only_once(target, sources, is_kept):
    made = tapes.Tapes(Guard(lambda what, why: None))
    loss = target()

    made.saw_eager(loss, sources())

    assert made.take_loss() is (loss if is_kept else None)
    assert made.take_loss() is None
