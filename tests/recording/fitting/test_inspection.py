"""Close looks at steps, compared with numbers worked out by hand."""

import math

import numpy as np
import pytest

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.live

from keras import layers  # noqa: E402

from tb_health_plugin.recording.fitting import allowance, inspection  # noqa: E402
from tests.recording.fitting.gated import Gated  # noqa: E402

constant = keras.initializers.Constant
X = np.random.RandomState(0).randn(64, 6).astype("float32")
Y = X[:, :1] - X[:, 1:2]


@pytest.fixture(autouse=True)
def plenty_of_time(monkeypatch):
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 1000.0)


def watched(model, x=X, y=Y, **options):
    gated = Gated()
    options = {"epochs": 1, "batch_size": 8, "shuffle": False, "verbose": 0, **options}
    model.fit(x, y, callbacks=[gated], **options)
    return gated


def sequential(*made, optimizer="sgd", loss="mse", **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), *made])
    model.compile(optimizer, loss, **options)
    return model


def norm(array) -> float:
    return float(np.linalg.norm(np.asarray(array)))


@pytest.mark.parametrize("mode", [{}, {"run_eagerly": True}, {"jit_compile": True}])
def test_a_look_tells_loss_gradients_weights_and_updates_of_its_step(mode):
    rate = 0.01
    model = sequential(layers.Dense(1), optimizer=keras.optimizers.SGD(rate), **mode)
    kernel, bias = model.get_weights()
    # The first look is before the second step: the first one, by hand.
    error = X[:8] @ kernel + bias - Y[:8]
    kernel -= rate * 2 / 8 * X[:8].T @ error
    bias -= rate * 2 / 8 * error.sum(axis=0)
    error = X[8:16] @ kernel + bias - Y[8:16]
    gradients = (2 / 8 * X[8:16].T @ error, 2 / 8 * error.sum(axis=0))

    look = watched(model).looks[0]

    norms = [norm(one) for one in gradients]
    assert look.step == 1
    assert look.loss == pytest.approx(float((error**2).mean()), rel=1e-4)
    assert look.gradient_norms == pytest.approx(norms, rel=1e-4)
    assert look.gradient_norm == pytest.approx(math.hypot(*norms), rel=1e-4)
    assert look.weight_norms == pytest.approx([norm(kernel), norm(bias)], rel=1e-4)
    assert look.update_norms == pytest.approx([rate * one for one in norms], rel=1e-3)
    assert look.has_gradient == (1, 1)
    assert look.gradient_nonfinite == (0, 0)
    assert look.learning_rate == pytest.approx(rate)
    output = X[8:16] @ kernel + bias
    assert look.output_minimums == pytest.approx([output.min()], rel=1e-4)
    assert look.output_maximums == pytest.approx([output.max()], rel=1e-4)
    assert look.output_stds == pytest.approx([output.std()], rel=1e-4)


def test_looks_are_far_apart_once_the_beginning_is_over():
    x, y = np.tile(X, (20, 1)), np.tile(Y, (20, 1))

    steps = [look.step for look in watched(sequential(layers.Dense(1)), x, y).looks]

    assert steps[:5] == [1, 3, 10, 30, 100]
    assert len(steps) < 10


def test_dead_and_saturated_layers_show():
    model = sequential(
        layers.Dense(4, activation="relu", bias_initializer=constant(-1e3)),
        layers.Dense(5, activation="sigmoid", bias_initializer=constant(1e3)),
        layers.Dense(3),
        layers.Activation("tanh"),
        layers.Dense(1),
    )

    look = watched(model).looks[0]

    assert look.output_dead_fractions[:2] == (1, 0)
    assert look.output_zero_fractions[0] == 1
    assert look.output_saturated_fractions[1] == 1
    assert 0 <= look.output_saturated_fractions[3] <= 1
    assert math.isnan(look.output_saturated_fractions[0])


@pytest.mark.parametrize(("between", "judged"), [(False, 1), (True, None)])
def test_the_layer_that_the_loss_judges(between, judged):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = layers.Dense(4)
            self.score = layers.Dense(1)
            self.made_last = layers.Dense(4)

        def call(self, x):
            score = self.score(self.made_last(self.hidden(x)))
            return tf.sigmoid(score) if between else score

    model = Net()
    model.compile("sgd", "mse")

    assert {look.judged_layer for look in watched(model).looks} == {judged}


def test_what_is_not_trained_or_not_used_has_no_gradient():
    class Unused(layers.Layer):
        def build(self, shape):
            self.extra = self.add_weight(shape=(2,), name="extra")

        def call(self, x):
            return x

    frozen = layers.Dense(6, trainable=False)
    model = sequential(frozen, Unused(), layers.Dense(1))
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        look = watched(model).looks[0]

    has = look.has_gradient
    assert [math.isnan(one) for one in has[:2]] == [True, True]
    assert has[2:] == (0, 1, 1)
    assert all(math.isnan(one) for one in look.update_norms[:2])


def test_the_same_row_twice_in_a_sparse_gradient_counts_as_their_sum():
    keras.utils.set_random_seed(1)
    table = layers.Embedding(10, 3, embeddings_initializer="ones")
    model = keras.Sequential(
        [keras.Input((2,), dtype="int32"), table, layers.Flatten()]
    )
    model.compile(keras.optimizers.SGD(0.0), "mse")
    words = np.array([[1, 1], [1, 2]] * 8, "int32")

    look = watched(model, words, np.zeros((16, 6), "float32"), batch_size=2).looks[0]

    # Each number of the output has the gradient 2 / 12.
    assert look.gradient_norms[0] == pytest.approx(math.sqrt(3 * (9 + 1)) / 6, rel=1e-5)
    assert look.gradient_zero_fractions[0] == pytest.approx(1 - 6 / 30)


def test_the_scale_of_the_loss_is_left_out():
    scaled = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.01), initial_scale=512.0
    )
    ones = {"kernel_initializer": "ones"}
    plain = watched(sequential(layers.Dense(1, **ones), optimizer="sgd")).looks[0]
    look = watched(sequential(layers.Dense(1, **ones), optimizer=scaled)).looks[0]

    assert look.loss_scale == 512
    assert look.loss == pytest.approx(plain.loss, rel=1e-4)
    assert look.gradient_norms == pytest.approx(plain.gradient_norms, rel=1e-3)


class TwoOptimizers(keras.Sequential):
    """A step that reports a loss under a name of its own."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        first, second = self.trainable_variables[:2], self.trainable_variables[2:]
        gradients = tape.gradient(loss, first + second)
        self.optimizer.apply_gradients(zip(gradients[:2], first, strict=True))
        self.other.apply_gradients(zip(gradients[2:], second, strict=True))
        return {"d_loss": loss}


def test_a_step_of_the_programs_own_is_looked_at_without_training_twice():
    keras.utils.set_random_seed(1)
    parts = [keras.Input((6,)), layers.Dense(3), layers.Dense(1)]
    model = TwoOptimizers(parts)
    model.other = keras.optimizers.SGD(0.01)
    model.compile("sgd")

    gated = watched(model)

    look = gated.looks[0]
    assert look.has_gradient == (1, 1, 1, 1)
    assert look.loss > 0
    assert int(model.other.iterations) == int(model.optimizer.iterations) == 8


def test_a_step_that_prints_is_not_run_twice(capfd):
    class Talks(layers.Layer):
        def call(self, x):
            tf.print("a step")
            return x

    gated = watched(sequential(layers.Dense(1), Talks(), jit_compile=False))

    assert gated.all(inspection.facts.Inspected) == []
    ((what, why),) = gated.recorder.faults
    assert what == inspection.WHAT
    assert "Print" in why
    assert capfd.readouterr().err.count("a step") == 8


def test_a_layer_inside_a_loop_is_passed_over():
    class Loops(layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = layers.Dense(6)

        def build(self, shape):
            self.inner.build(shape)

        def call(self, x):
            return tf.while_loop(
                lambda i, _: i < 2, lambda i, h: (i + 1, self.inner(h)), (0, x)
            )[1]

    look = watched(sequential(Loops(), layers.Dense(1))).looks[0]

    assert all(math.isfinite(one) for one in look.output_stds)
    assert look.gradient_norm > 0


def test_a_short_training_is_looked_at_in_the_end(monkeypatch):
    monkeypatch.setattr(inspection, "FIXED_SECONDS", 1000.0)
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 0.0)

    (look,) = watched(sequential(layers.Dense(1))).looks

    assert look.step == 8
    assert look.update_norms == ()


def test_without_time_there_is_no_look(monkeypatch):
    monkeypatch.setattr(inspection, "FIXED_SECONDS", 0.0)
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 0.0)

    assert watched(sequential(layers.Dense(1))).looks == []


def test_danger_is_looked_at_step_by_step():
    x, y = np.tile(X, (4, 1)), np.tile(Y, (4, 1))
    y[8 * 12 :] *= 1e4

    steps = [look.step for look in watched(sequential(layers.Dense(1)), x, y).looks]

    assert {14, 15, 16, 17} <= set(steps)
    assert 8 not in steps
