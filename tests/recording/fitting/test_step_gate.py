"""The gate before every training step, on real small trainings."""

import math
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

from tb_health_plugin.events import facts

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
from keras import layers  # noqa: E402

from tb_health_plugin.recording.fitting import allowance, step_watch  # noqa: E402
from tests.recording.fitting.gated import Gated, bits_of  # noqa: E402

ROWS = 8 * 20 + 3
X = np.random.RandomState(0).randn(ROWS, 6).astype("float32")
Y = X.sum(axis=1, keepdims=True)
WORDS = np.random.RandomState(0).randint(0, 50, (ROWS, 6))
# A step of Keras warns of the variable that is in no loss.
pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings("ignore:Gradients do not exist:UserWarning"),
]
MODES = {
    "graph": {},
    "jit": {"jit_compile": True},
    "eager": {"run_eagerly": True},
    "executions": {"steps_per_execution": 4},
    "clipped": {"optimizer": {"clipnorm": 0.01}},
    "globally clipped": {"optimizer": {"global_clipnorm": 0.01}},
    "accumulated": {"optimizer": {"gradient_accumulation_steps": 4}},
    "scaled": {"optimizer": {}, "scaled": True},
    "sparse": {"sparse": True},
    "own step": {"own_step": True},
    "own eager step": {"own_step": True, "run_eagerly": True},
}


@keras.saving.register_keras_serializable()
class Forgotten(layers.Layer):
    """Has a weight that no loss depends on."""

    def build(self, shape):
        self.extra = self.add_weight(shape=(2,), name="extra")

    def call(self, x):
        return x


class OwnStep(keras.Sequential):
    """A training step of the program's own, with a random number in it."""

    def train_step(self, data):
        x, y = data
        noise = keras.random.normal(tf.shape(x), stddev=0.1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x + noise, training=True) - y) ** 2)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        for metric in self.metrics:
            metric.update_state(loss)
        return {metric.name: metric.result() for metric in self.metrics}


def small_model(
    *, optimizer=None, scaled=False, sparse=False, own_step=False, **options
):
    adam = keras.optimizers.Adam(**(optimizer or {}))
    if scaled:
        adam = keras.optimizers.LossScaleOptimizer(adam)
    keras.utils.set_random_seed(1)
    first = [keras.Input((6,))]
    if sparse:
        inputs = keras.Input((6,), dtype="int32")
        first = [inputs, layers.Embedding(50, 2), layers.Flatten()]
    model = (OwnStep if own_step else keras.Sequential)(
        [
            *first,
            layers.Dense(6, trainable=False),
            Forgotten(),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.2),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )
    model.compile(adam, "mse", metrics=None if own_step else ["mae"], **options)
    return model


def fit(model, *callbacks, data=None, **options):
    x, y = data or (X, Y)
    options = {"epochs": 2, "batch_size": 8, "verbose": 0, **options}
    return model.fit(x, y, callbacks=list(callbacks), **options).history


@pytest.fixture(autouse=True)
def plenty_of_time(monkeypatch):
    """Looks are made when they are planned, however busy the machine is."""
    monkeypatch.setattr(allowance, "FIXED_SECONDS", 1000.0)


@pytest.mark.parametrize("mode", MODES)
def test_a_training_is_the_same_to_the_last_bit(mode):
    data = (WORDS, Y) if mode == "sparse" else (X, Y)
    split = 0.0 if "own" in mode else 0.2
    bare = small_model(**MODES[mode])
    alone = fit(bare, data=data, validation_split=split)
    # Only now: whoever is made takes random numbers.
    watched, gated = small_model(**MODES[mode]), Gated()
    together = fit(watched, gated, data=data, validation_split=split)

    assert together == alone
    assert bits_of(watched) == bits_of(bare)
    all_is_told(gated, watched, single=mode != "executions")
    look = gated.looks[0]
    assert (look.loss_scale is not None) == (mode == "scaled")
    if "clipped" in mode:
        # Told as the loss gave it: what the optimizer makes of it is a setting.
        assert look.gradient_norm > 0.01
    if mode == "sparse":
        # Few rows of the table are in a batch.
        assert look.gradient_zero_fractions[0] > 0


def all_is_told(gated, model, *, single):
    """Every kind of fact that a step gives, with numbers that can be."""
    look = gated.looks[0]
    names = [one.path for one in model.variables]
    trained = [place for place, one in enumerate(model.variables) if one.trainable]
    used = [place for place in trained if not names[place].endswith("extra")]
    (forgotten,) = set(trained) - set(used)
    still = {id(v) for one in model.layers if not one.trainable for v in one.variables}
    frozen = [place for place, one in enumerate(model.variables) if id(one) in still]
    assert all(look.has_gradient[place] == 1 for place in used)
    assert look.has_gradient[forgotten] == 0
    assert len(frozen) == 2
    assert all(math.isnan(look.has_gradient[place]) for place in frozen)
    assert all(look.gradient_norms[place] >= 0 for place in used)
    assert all(look.gradient_nonfinite[place] == 0 for place in used)
    assert all(0 <= look.gradient_zero_fractions[place] <= 1 for place in used)
    assert all(look.weight_norms[place] >= 0 for place in trained + frozen)
    assert 0 < look.gradient_norm < 1000
    assert 0 < look.loss < 1000
    assert len(look.output_dead_fractions) == len(model.layers)
    assert len(look.update_norms) == (len(model.variables) if single else 0)
    if single:
        moved = [place for place in used if look.update_norms[place] > 0]
        # Gradients that are accumulated move nothing until there are enough of them.
        assert moved or model.optimizer.gradient_accumulation_steps
        assert look.update_norms[forgotten] == 0
    assert gated.all(facts.BatchSeen)
    assert gated.fit.spent.wait_seconds > 0
    assert gated.fit.spent.examples > 0


def test_a_second_epoch_is_the_same_where_only_the_data_tells_its_end():
    def batches():
        for start in range(0, ROWS, 8):
            yield X[start : start + 8], Y[start : start + 8]

    def run(*callbacks):
        spec = (tf.TensorSpec([None, 6]), tf.TensorSpec([None, 1]))
        data = tf.data.Dataset.from_generator(batches, output_signature=spec)
        model = small_model()
        with pytest.warns(UserWarning, match="ran out of data"):
            model.fit(
                data, epochs=3, shuffle=False, verbose=0, callbacks=list(callbacks)
            )
        return model

    assert bits_of(run(Gated())) == bits_of(run())


def test_the_model_is_traced_as_often_as_without():
    def traces(*callbacks) -> int:
        counted = 0

        class Counted(layers.Layer):
            def call(self, x):
                nonlocal counted
                counted += not tf.executing_eagerly()
                return x

        model = keras.Sequential([keras.Input((6,)), layers.Dense(1), Counted()])
        model.compile("sgd", "mse")
        before = counted
        fit(model, *callbacks, validation_split=0.2)
        fit(model, *callbacks, validation_split=0.2)
        return counted - before

    # A look traces the model once more, for itself.
    gated = Gated()
    assert traces(gated) == traces() + 2
    assert len({look.training for look in gated.looks}) == 1


def test_the_wait_for_data_is_told_from_the_step():
    def slowly():
        for start in range(0, 80, 8):
            time.sleep(0.03)
            yield X[start : start + 8], Y[start : start + 8]

    model, gated = small_model(), Gated()
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(slowly(), epochs=1, shuffle=False, verbose=0, callbacks=[gated])

    spent = gated.fit.spent
    # Keras itself takes the first batch, before the training begins.
    assert 0.2 < spent.wait_seconds < 10
    assert spent.step_seconds > 0
    assert gated.recorder.progress.wait_seconds == spent.wait_seconds


class Rows(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index):
        return {"a": X[:7]}, Y[:7]


def test_examples_are_counted_whatever_the_data_comes_from():
    inputs = {"a": keras.Input((6,), name="a")}
    model, gated = keras.Model(inputs, layers.Dense(1)(inputs["a"])), Gated()
    model.compile("sgd", "mse")

    model.fit(Rows(), epochs=2, verbose=0, callbacks=[gated])
    assert gated.fit.spent.examples == 2 * 5 * 7

    model, gated = small_model(), Gated()
    fit(model, gated, epochs=1)
    assert gated.fit.spent.examples == ROWS


def test_a_batch_may_lack_its_weights():
    def batches():
        for _ in range(4):
            yield X[:8], Y[:8], None

    model, gated = small_model(), Gated()
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(batches(), epochs=1, shuffle=False, verbose=0, callbacks=[gated])

    assert gated.looks


def test_several_steps_per_execution_are_estimated_from_some():
    model, gated = small_model(steps_per_execution=4), Gated()
    fit(model, gated, epochs=1, data=(np.tile(X, (10, 1)), np.tile(Y, (10, 1))))

    spent = gated.fit.spent
    assert spent.wait_seconds > 0
    assert spent.step_seconds > spent.wait_seconds
    # The first execution is not looked into, the last one may be cut short.
    assert 0.9 * 10 * ROWS < spent.examples < 1.1 * 10 * ROWS


@pytest.mark.parametrize("mode", ["graph", "executions"])
def test_the_wait_of_a_validation_is_measured_where_steps_are_single(mode):
    model, gated = small_model(**MODES[mode]), Gated()

    fit(model, gated, validation_split=0.2)

    wait = gated.fit.spent.validation_wait_seconds
    assert (wait is None) if mode == "executions" else (wait > 0)


def test_an_error_in_the_data_is_told_from_one_in_the_step():
    def broken():
        yield X[:8], Y[:8]
        yield X[:8], Y[:8]
        raise KeyError("no such file")

    model, gated = small_model(), Gated()
    with pytest.raises(tf.errors.UnknownError, match="no such file") as raised:
        model.fit(broken(), epochs=1, shuffle=False, verbose=0, callbacks=[gated])
    assert gated.fit.raised.during == "data"
    assert gated.fit.raised.error is raised.value

    class Breaks(layers.Layer):
        def call(self, x):
            return tf.debugging.check_numerics(x / 0.0, "too far")

    model, gated = (
        keras.Sequential([keras.Input((6,)), layers.Dense(1), Breaks()]),
        Gated(),
    )
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
        fit(model, gated)
    assert gated.fit.raised.during == "step"


def test_the_end_of_the_data_is_no_error():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    model, gated = small_model(), Gated()

    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(
            data,
            steps_per_epoch=30,
            epochs=1,
            shuffle=False,
            verbose=0,
            callbacks=[gated],
        )

    assert gated.fit.raised is None


# Keras 3.15 with numpy 2, whoever saves.
@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")
def test_nothing_stays_behind():
    def own_of(model) -> list[set[str]]:
        return [set(vars(one)) for one in (model, model.optimizer, *model.layers)]

    model = small_model()
    fit(model, validation_split=0.2)
    own, step, test = own_of(model), model.train_function, model.test_function

    fit(model, Gated(), validation_split=0.2)
    assert own_of(model) == own
    assert (model.train_function, model.test_function) == (step, test)
    copy = pickle.loads(pickle.dumps(model))
    for ours, theirs in zip(model.get_weights(), copy.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_nothing_stays_behind_after_an_error():
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                raise ValueError("enough")

    model, gated = small_model(), Gated()
    fit(model)
    step = model.train_function
    with pytest.raises(ValueError, match="enough"):
        fit(model, gated, Stop())
    assert model.train_function is not step

    gated.gate.end()
    assert model.train_function is step


def test_a_fault_of_ours_never_reaches_the_training(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("ours")

    bare, watched, gated = small_model(), small_model(), Gated()
    alone = fit(bare)
    monkeypatch.setattr(step_watch.StepWatch, "_attend", fail)

    assert fit(watched, gated) == alone
    assert gated.recorder.faults == [(step_watch.WHAT, "RuntimeError: ours")]


def test_data_of_unknown_length_leaves_the_same_optimizer():
    def trained(*callbacks):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
        model.compile("adam", "mse")
        pairs = tf.data.Dataset.from_tensor_slices((X, Y))
        data = pairs.filter(lambda x, y: True).batch(8)
        options = {"epochs": 3, "verbose": 0, "shuffle": False}
        with pytest.warns(UserWarning, match="ran out of data"):
            model.fit(data, callbacks=list(callbacks), **options)
        return bits_of(model), int(model.optimizer.iterations)

    assert trained(Gated()) == trained()


MIRRORED = """
import sys
import numpy as np
import tensorflow as tf
import keras
from tests.recording.fitting.gated import Gated, bits_of
from tests.recording.fitting.test_step_gate import all_is_told, small_model

cpu = tf.config.list_physical_devices("CPU")[0]
halves = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, halves)
x = np.random.RandomState(0).randn(160, 6).astype("float32")
if "bad" in sys.argv:
    x[8 * 12 + 3] = np.nan

def trained(*callbacks):
    keras.utils.set_random_seed(1)
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = small_model()
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
    model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=list(callbacks))
    if callbacks:
        all_is_told(*callbacks, model, single=False)
    return bits_of(model)

from tb_health_plugin.recording.fitting import allowance
allowance.FIXED_SECONDS = 1000.0
gated = Gated()
assert trained(gated) == trained(), "not the same"
assert gated.recorder.faults == [], gated.recorder.faults
"""


def run_mirrored(checks: str, *arguments: str) -> None:
    program = [sys.executable, "-c", MIRRORED + checks, *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_replicas_are_counted_and_looked_at():
    run_mirrored("assert gated.fit.spent.examples == 160\n")


def test_a_bad_row_is_found_among_replicas():
    run_mirrored(
        "bad = gated.bad_number\n"
        "assert (bad.bad_step, bad.began_in, bad.exact) == (12, 'input', True), bad\n",
        "bad",
    )
