"""Where the first NaN or infinity began, in trainings made to have one."""

import math
from pathlib import Path

import numpy as np
import pytest

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.live

from keras import layers, ops  # noqa: E402

from tb_health_plugin.events import facts  # noqa: E402
from tb_health_plugin.recording.fitting import allowance, recent_steps  # noqa: E402
from tests.recording.fitting.gated import Gated, bits_of  # noqa: E402

NEVER_ON = keras.initializers.Constant(-100.0)
ROWS, STEPS, BAD = 8, 30, 21
MODES = {"graph": {}, "jit": {"jit_compile": True}, "eager": {"run_eagerly": True}}


class Log(layers.Layer):
    def call(self, x):
        return ops.log(x)


class Root(layers.Layer):
    def call(self, x):
        return ops.sqrt(x)


def data(**spoilt):
    """Inputs above 0 and targets; `x` or `y` of some rows of the bad step is spoilt."""
    random = np.random.RandomState(0)
    x = random.rand(ROWS * STEPS, 4).astype("float32") + 0.5
    y = x.sum(axis=1, keepdims=True)
    if "x" in spoilt:
        x[BAD * ROWS + 3, 2] = spoilt["x"]
    if "y" in spoilt:
        y[BAD * ROWS + 5] = spoilt["y"]
    return x, y


def sequential(*made, optimizer=None, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), *made])
    model.compile(optimizer or keras.optimizers.SGD(0.01), "mse", **options)
    return model


def fit(model, x, y, *callbacks):
    model.fit(
        x,
        y,
        batch_size=ROWS,
        shuffle=False,
        verbose=0,
        callbacks=list(callbacks),
    )


def bad_number(model, x, y) -> facts.FirstBadNumber:
    gated = Gated()
    fit(model, x, y, gated)
    return gated.bad_number


@pytest.mark.parametrize("mode", MODES)
def test_a_bad_input_is_found_with_its_row(mode):
    model = sequential(layers.Dense(3), layers.Dense(1), **MODES[mode])

    bad = bad_number(model, *data(x=np.nan))

    assert (bad.bad_step, bad.began_in, bad.name, bad.row) == (BAD, "input", "x", 3)
    assert (bad.exact, bad.value, bad.seen_in) == (True, "nan", "loss")
    assert bad.epoch == 0
    assert list(bad.bad_layers) == [layer.name for layer in model.layers]
    assert [field.nonfinite_count for field in bad.fields] == [1, 0]


def test_a_bad_input_out_of_a_dataset_is_found():
    x, y = data(x=np.inf)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(ROWS)
    model, gated = sequential(layers.Dense(1)), Gated()

    model.fit(batches, shuffle=False, verbose=0, callbacks=[gated])

    bad = gated.bad_number
    assert (bad.bad_step, bad.began_in, bad.row, bad.value) == (BAD, "input", 3, "inf")


def test_a_bad_target_is_found_with_its_row():
    model = sequential(layers.Dense(1))

    bad = bad_number(model, *data(y=np.nan))

    assert (bad.bad_step, bad.began_in, bad.name, bad.row) == (BAD, "target", "y", 5)
    assert bad.exact
    assert bad.bad_layers == ()


@pytest.mark.parametrize("mode", MODES)
def test_a_layer_that_takes_the_logarithm_of_zero_is_found(mode):
    model = sequential(Log(name="log"), layers.Dense(1), **MODES[mode])

    bad = bad_number(model, *data(x=0.0))

    assert (bad.bad_step, bad.began_in, bad.name) == (BAD, "layer", "log")
    assert (bad.kind, bad.row, bad.value, bad.exact) == ("Log", 3, "inf", True)
    assert bad.bad_layers[0] == "log"
    line = Log.call.__code__.co_firstlineno + 1
    assert bad.op == f"Log at {Path(__file__).name}:{line}"


def test_an_operation_between_layers_is_found():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Dense(1)(ops.log(inputs)))
    model.compile("sgd", "mse")

    bad = bad_number(model, *data(x=0.0))

    assert (bad.bad_step, bad.began_in, bad.kind) == (BAD, "layer", "Log")


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_gradient_that_goes_bad_on_its_way_back_is_found(mode):
    model = sequential(
        layers.Dense(2, name="before", kernel_initializer="ones"),
        Root(),
        layers.Dense(1, name="after"),
        **MODES[mode],
    )
    x, y = data()
    # The root of 0 is 0, but its slope is infinite.
    x[BAD * ROWS + 3] = 0.0
    model.layers[0].bias.trainable = False

    bad = bad_number(model, x, y)

    assert (bad.bad_step, bad.began_in, bad.exact) == (BAD, "gradient", True)
    assert bad.name.endswith("before/kernel")
    assert bad.bad_layers == ()
    assert bad.op.startswith("SqrtGrad")


@pytest.mark.parametrize("mode", MODES)
def test_a_training_that_explodes_shows_how_it_grew(mode):
    optimizer = keras.optimizers.SGD(3.0)
    model = sequential(layers.Dense(1), optimizer=optimizer, **MODES[mode])

    bad = bad_number(model, *data())

    assert bad.exact
    assert bad.began_in in ("layer", "loss")
    assert bad.steps_before == tuple(range(bad.bad_step))[-len(bad.steps_before) :]
    assert bad.losses_before[-1] > 1e6 * bad.losses_before[0]
    assert bad.gradient_norms_before[-1] > 1e3 * bad.gradient_norms_before[0]


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_an_optimizer_that_divides_by_zero_is_found(mode):
    model = sequential(
        layers.Dense(3, activation="relu", dtype="float16", bias_initializer=NEVER_ON),
        layers.Dense(1, dtype="float16"),
        # As 16-bit number, this is 0.
        optimizer=keras.optimizers.Adam(epsilon=1e-9),
        **MODES[mode],
    )

    bad = bad_number(model, *data())

    assert (bad.bad_step, bad.began_in, bad.exact) == (0, "update", True)
    assert bad.bad_layers == ()
    assert bad.bad_variables


@pytest.mark.parametrize("mode", ["graph", "jit"])
def test_the_search_leaves_the_training_as_it_was(mode):
    x, y = data()
    # Too large for a loss of 32 bits, not for the weights: the training goes on.
    y[BAD * ROWS + 5] = 1e20

    def trained(*callbacks):
        keras.utils.set_random_seed(1)
        model = sequential(
            layers.Dense(3),
            layers.Dropout(0.3),
            layers.BatchNormalization(),
            layers.Dense(1),
            optimizer=keras.optimizers.Adam(clipvalue=1.0),
            metrics=["mae"],
            **MODES[mode],
        )
        fit(model, x, y, *callbacks)
        return bits_of(model)

    gated = Gated()
    watched = trained(gated)
    assert watched == trained()
    assert all(np.isfinite(np.frombuffer(watched[0], "float32")))
    assert (gated.bad_number.bad_step, gated.bad_number.began_in) == (BAD, "loss")


def test_infinities_of_every_batch_are_not_blamed():
    class Masks(layers.Layer):
        def call(self, x):
            # A mask, as before a softmax.
            return ops.where(x > 1.4, -math.inf, x)

    class Unmasks(layers.Layer):
        def call(self, x):
            return ops.where(ops.isfinite(x), x, ops.ones_like(x))

    model = sequential(Masks(), Unmasks(), Log(name="log"), layers.Dense(1))
    x, y = data(x=0.0)
    x[:, 0] = 1.45
    # Their logarithm is 0 in every batch but one.
    x[:, 1:] = np.where(x[:, 1:] > 1.4, 1.0, x[:, 1:])

    bad = bad_number(model, x, y)

    assert (bad.began_in, bad.name) == ("layer", "log")


def test_missing_values_that_the_model_fills_in_are_not_blamed():
    class Fills(layers.Layer):
        def call(self, x):
            return ops.where(ops.isfinite(x), x, ops.ones_like(x))

    x, y = data(x=0.0)
    x[::ROWS, 1] = np.nan
    model = sequential(Fills(), Log(name="log"), layers.Dense(1))

    bad = bad_number(model, x, y)

    assert (bad.bad_step, bad.began_in, bad.name) == (BAD, "layer", "log")


def test_gradients_that_a_loss_scale_made_too_large_are_no_bad_number(monkeypatch):
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 1000.0)
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.01), initial_scale=3e38
    )
    model, gated = sequential(layers.Dense(1), optimizer=optimizer), Gated()

    fit(model, *data(), gated)

    assert any(sum(look.gradient_nonfinite) > 0 for look in gated.looks)
    assert gated.all(facts.FirstBadNumber) == []


def test_bad_weights_behind_a_good_loss_are_found_in_the_end():
    class Hides(layers.Layer):
        def call(self, x):
            return ops.where(ops.isfinite(x), x, ops.zeros_like(x))

    model = sequential(layers.Dense(2), Hides(), layers.Dense(1))

    bad = bad_number(model, *data(x=np.nan))

    assert (bad.bad_step, bad.began_in, bad.seen_in) == (BAD, "input", "weight")


def test_of_a_large_model_the_batch_alone_is_looked_at(monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_STATES_BYTES", 0)
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 0.0)

    bad = bad_number(sequential(layers.Dense(1)), *data(x=np.nan))
    assert (bad.began_in, bad.row, bad.exact) == ("input", 3, False)

    bad = bad_number(sequential(Log(), layers.Dense(1)), *data(x=0.0))
    assert (bad.bad_step, bad.began_in, bad.exact) == (BAD, "weights", False)
    assert "too large" in bad.how
    assert len(bad.bad_variables) == 2


def test_with_several_steps_per_execution_it_is_said_what_is_not_known(monkeypatch):
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 0.0)
    model = sequential(Log(), layers.Dense(1), steps_per_execution=5)

    bad = bad_number(model, *data(x=0.0))

    # On a slow machine every step is looked into, and the step is found. Else one of
    # those that ran together is told; which one depends on the version of Keras.
    if bad.exact:
        assert bad.bad_step == BAD
    else:
        assert bad.bad_step // 5 == BAD // 5
        assert "single steps" in bad.how


def test_a_step_of_the_programs_own_is_searched_too():
    class OwnStep(keras.Sequential):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            variables = self.trainable_variables
            gradients = tape.gradient(loss, variables)
            self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return {"loss": loss}

    keras.utils.set_random_seed(1)
    model = OwnStep([keras.Input((4,)), Log(name="log"), layers.Dense(1)])
    model.compile("sgd")

    bad = bad_number(model, *data(x=0.0))

    assert (bad.bad_step, bad.began_in, bad.name) == (BAD, "layer", "log")
    assert bad.exact
