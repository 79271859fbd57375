"""What real models and trainings say of themselves."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tb_health_plugin.events import facts, settings
from tb_health_plugin.events.event_file import encode_fact
from tb_health_plugin.recording.fitting.model_facts import describe
from tests.recording.fitting.fake_fit import fake_fit

keras = pytest.importorskip("keras")
layers = keras.layers

pytestmark = pytest.mark.live

X = np.linspace(0, 1, 32 * 4, dtype="float32").reshape(32, 4)


class Describes(keras.callbacks.Callback):
    """Asks when the recording does: at the beginning of the first epoch."""

    def __init__(self, arguments):
        super().__init__()
        self.arguments = arguments

    def on_epoch_begin(self, epoch, logs=None):
        self.fit = fake_fit(self.model, self.arguments, [self])
        self.found = describe(self.fit)


def told(model, **arguments):
    """Trains and returns what was told; it must fit into a fact."""
    callback = Describes(arguments)
    model.fit(**arguments, callbacks=[callback], verbose=0)
    assert callback.fit.recorder.faults == []
    begun = facts.TrainingStarted(wall_time=1.0, **callback.found)
    assert encode_fact(begun)
    known = {name.rstrip("*") for name in settings.TRAINING}
    for name in begun.settings:
        assert name in known or f"{name.partition('.')[0]}." in known, name
    return begun


def dense(*more, **options):
    return keras.Sequential([keras.Input((4,)), *more, layers.Dense(1, **options)])


def test_layers_say_what_they_are():
    model = dense(
        layers.Dense(
            8,
            "relu",
            name="first",
            kernel_regularizer=keras.regularizers.L2(0.01),
            kernel_initializer="he_normal",
        ),
        layers.BatchNormalization(name="norm", momentum=0.9),
        layers.Dropout(0.25, name="drop"),
        layers.LeakyReLU(name="leaky"),
        name="out",
    )
    model.compile("sgd", "mse")

    first, norm, drop, leaky, out = told(model, x=X, y=X[:, :1]).layers

    assert (first.kind, first.activation, first.units) == ("Dense", "relu", 8)
    assert (first.parameters, first.trainable) == (40, True)
    assert (first.is_output, first.is_custom) == (False, False)
    assert first.settings["kernel_regularizer"] == "L2(l2=0.01)"
    assert first.settings["kernel_initializer"].startswith("HeNormal")
    assert first.settings["dtype"] == "float32"
    assert (norm.settings["momentum"], norm.parameters) == ("0.9", 32)
    assert (drop.settings["rate"], drop.parameters) == ("0.25", 0)
    assert leaky.activation == "leaky_relu"
    assert (out.activation, out.is_output) == ("linear", True)


def test_variables_are_the_models_own_in_its_order():
    model = dense(layers.BatchNormalization(name="norm"), name="out")
    model.compile("adam", "mse", metrics=["mae"])

    variables = told(model, x=X, y=X[:, :1]).variables

    assert [v.name for v in variables] == [v.path for v in model.variables]
    assert [v.layer for v in variables] == ["norm"] * 4 + ["out"] * 2
    assert [v.trainable for v in variables] == [True, True, False, False, True, True]
    assert {v.dtype for v in variables} == {"float32"}
    assert [v.size for v in variables] == [4, 4, 4, 4, 4, 1]


def test_every_output_of_a_functional_model_is_known():
    x = keras.Input((4,))
    hidden = layers.Dense(3, name="hidden")(x)
    a = layers.Dense(1, "sigmoid", name="a")(hidden)
    model = keras.Model(x, {"a": a, "b": layers.Dense(2, name="b")(hidden)})
    model.compile(
        "sgd",
        {"a": "binary_crossentropy", "b": keras.losses.Huber(reduction="sum")},
    )

    begun = told(model, x=X, y={"a": X[:, :1], "b": X[:, :2]})

    assert [layer.is_output for layer in begun.layers] == [False, True, True]
    expected = "a: binary_crossentropy, b: Huber(reduction=sum)"
    assert begun.settings["loss"] == expected
    assert begun.settings["loss.from_logits"] == "False"


def test_an_output_called_twice_is_known_by_its_name():
    x = keras.Input((4,))
    shared = layers.Dense(4, name="shared")
    model = keras.Model(x, shared(shared(x)))
    model.compile("sgd", "mse")

    assert told(model, x=X, y=X).layers[0].is_output is True


def test_a_frozen_base_is_told_as_such():
    base = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d")], name="base")
    base.trainable = False
    model = keras.Sequential([keras.Input((4,)), base, layers.Dense(1, name="head")])
    model.compile("sgd", "mse")

    begun = told(model, x=X, y=X[:, :1])

    assert [(v.layer, v.trainable) for v in begun.variables] == [
        ("base/d", False),
        ("base/d", False),
        ("head", True),
        ("head", True),
    ]
    assert [layer.trainable for layer in begun.layers] == [False, True]


def test_a_model_of_ones_own_with_its_own_step_and_optimizers():
    @keras.saving.register_keras_serializable("tests")
    class Scale(layers.Layer):
        def call(self, x):
            return x * 2

    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.generator = keras.Sequential([layers.Dense(4, "tanh"), Scale()])
            self.critic = keras.Sequential([layers.Dense(1)])
            self.critic_optimizer = keras.optimizers.Adam(2e-4)

        def call(self, x):
            return self.critic(self.generator(x))

        def train_step(self, data):
            return {"loss": keras.ops.mean(self(data[0]))}

    model = Gan()
    model.compile()

    begun = told(model, x=X, y=X[:, :1])

    assert begun.settings["model"] == "Gan"
    assert begun.settings["train_step"] == "custom"
    expected = "critic_optimizer: Adam(learning_rate=0.0002)"
    assert begun.settings["optimizers"] == expected
    assert [layer.is_custom for layer in begun.layers] == [False, True, False]
    assert [layer.is_output for layer in begun.layers] == [False, False, True]


def test_optimizer_schedule_and_clipping_are_told():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 50, 0.9)
    model = dense()
    model.compile(keras.optimizers.SGD(schedule, momentum=0.9, clipnorm=2.0), "mse")

    found = told(model, x=X, y=X[:, :1]).settings

    assert found["optimizer"] == "SGD"
    assert found["optimizer.learning_rate"] == "0.1"
    assert found["optimizer.clipnorm"] == "2.0"
    assert found["optimizer.momentum"] == "0.9"
    assert found["learning_rate_schedule"] == "ExponentialDecay"
    assert found["learning_rate_schedule.decay_steps"] == "50"


def test_a_schedule_of_ones_own_is_named_and_not_called():
    called = []

    class Mine(keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self):
            self.start = 0.5
            self.note = "private"

        def __call__(self, step):
            called.append(step)
            return self.start

    model = dense()
    model.compile(keras.optimizers.SGD(Mine()), "mse")

    found = describe(fake_fit(model, {"x": X}))["settings"]

    assert found["learning_rate_schedule"] == "Mine"
    assert found["learning_rate_schedule.start"] == "0.5"
    assert "learning_rate_schedule.note" not in found
    assert "optimizer.learning_rate" not in found
    assert called == []


def test_a_rate_of_float32_is_told_as_the_program_wrote_it():
    model = dense()
    model.compile(keras.optimizers.Adam(3e-4), "mse")

    assert told(model, x=X, y=X[:, :1]).settings["optimizer.learning_rate"] == "0.0003"


def test_mixed_precision_is_told_with_its_inner_optimizer():
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(2, dtype="mixed_float16"),
            layers.Dense(1, dtype="float32"),
        ]
    )
    inner = keras.optimizers.Adam(0.01)
    model.compile(keras.optimizers.LossScaleOptimizer(inner), "mse")

    begun = told(model, x=X, y=X[:, :1])

    assert begun.settings["optimizer"] == "Adam"
    assert begun.settings["optimizer.learning_rate"] == "0.01"
    assert begun.settings["loss_scaling"] == "LossScaleOptimizer"
    assert begun.settings["loss_scaling.initial_scale"] == "32768.0"
    policies = [layer.settings["dtype"] for layer in begun.layers]
    assert policies == ["mixed_float16", "float32"]


@pytest.mark.parametrize(
    ("loss", "expected", "logits"),
    [
        ("mse", "mse", None),
        ("binary_crossentropy", "binary_crossentropy", "False"),
        (keras.losses.binary_crossentropy, "binary_crossentropy", "False"),
        (keras.losses.BinaryCrossentropy(from_logits=True), "BinaryCross", "True"),
        (lambda y, p: keras.ops.mean((y - p) ** 2), "<lambda>", None),
    ],
)
def test_losses_of_every_kind_are_told_without_a_warning(loss, expected, logits):
    model = dense()
    model.compile("sgd", loss)

    # Keras warns when it serializes a lambda, and a warning is an error here.
    found = told(model, x=X, y=X[:, :1]).settings

    assert found["loss"].startswith(expected)
    assert found.get("loss.from_logits") == logits


def test_how_fit_was_called_is_told():
    model = dense()
    model.compile("sgd", "mse", steps_per_execution=2, run_eagerly=False)

    begun = told(
        model,
        x=X,
        y=X[:, :1],
        batch_size=4,
        epochs=1,
        validation_split=0.25,
        shuffle=False,
        class_weight={0: 1.0, 1: 2.0},
    )

    found = begun.settings
    assert (found["batch_size"], found["epochs"]) == ("4", "1")
    assert (found["validation_split"], found["shuffle"]) == ("0.25", "False")
    assert found["class_weight"] == "given"
    assert found["steps_per_execution"] == "2"
    assert found["callbacks"] == "Describes"
    assert found["replicas"] == "1"
    assert "strategy" not in found
    assert int(found["cpus"]) >= 1
    assert (found["data.batches"], found["validation.batches"]) == ("6", "2")
    assert begun.planned_validation_steps == 2


def test_a_layer_of_the_program_that_fails_when_asked_costs_nothing_else():
    class Rude(layers.Layer):
        @property
        def rate(self):
            raise RuntimeError("do not ask")

        def call(self, x):
            return x

    model = dense(Rude(name="rude"))
    model.compile("sgd", "mse")

    rude, out = told(model, x=X, y=X[:, :1]).layers

    assert "rate" not in rude.settings
    assert out.is_output is True


def test_a_fault_in_one_part_leaves_the_others(monkeypatch):
    def fails(model):
        raise RuntimeError("gone")

    from tb_health_plugin.recording.fitting import layer_facts

    monkeypatch.setattr(layer_facts, "layers_of", fails)
    model = dense()
    model.compile("sgd", "mse")
    fit = fake_fit(model, {"x": X})

    found = describe(fit)

    assert fit.recorder.faults == [("layers of the model", "RuntimeError: gone")]
    assert "layers" not in found
    assert len(found["variables"]) == 2
    assert found["settings"]["data.kind"] == "arrays"


def test_nothing_stays_on_the_model():
    model = dense(layers.Dropout(0.1))
    model.compile("sgd", "mse")
    before = {name: id(value) for name, value in vars(model).items()}

    describe(fake_fit(model, {"x": X}))

    assert {name: id(value) for name, value in vars(model).items()} == before
    json.loads(model.to_json())


REPLICATED = """
import numpy as np
import tensorflow as tf
import keras
from tb_health_plugin.recording.fitting.batch_fields import fields_of
from tb_health_plugin.recording.fitting.model_facts import describe
from tests.recording.fitting.fake_fit import fake_fit

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
x = np.ones((16, 4), "float32")


class Describes(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        fit = fake_fit(self.model, {"x": x})
        found = describe(fit)
        assert fit.recorder.faults == [], fit.recorder.faults
        print("told", found["settings"]["strategy"], found["settings"]["replicas"])
        print("rate", found["settings"]["optimizer.learning_rate"])


model.fit(x, x[:, :1], batch_size=8, verbose=0, callbacks=[Describes()])
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
batch = next(iter(strategy.experimental_distribute_dataset(data)))
print("shapes", [field.shape for field in fields_of(batch)])
"""


def test_replicas_are_told_and_a_batch_is_that_of_the_first():
    done = subprocess.run(
        [sys.executable, "-c", REPLICATED],
        capture_output=True,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "told MirroredStrategy 2" in done.stdout
    assert "rate 0.001" in done.stdout
    assert "shapes [(4, 4), (4, 1)]" in done.stdout
