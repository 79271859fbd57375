"""Hand-written loops of a program that knows nothing of us."""

import threading
from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin.events import facts

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

from tb_health_plugin.recording import optimizer_pickup, process_end  # noqa: E402
from tb_health_plugin.recording.keras_callback import HealthCallback  # noqa: E402
from tb_health_plugin.recording.optimizer_pickup import (  # noqa: E402
    LoopPlace,
    OptimizerPickup,
)
from tb_health_plugin.recording.process_end import ProcessEnd  # noqa: E402

X = np.ones((8, 4), "float32")
STEPS = 7


@pytest.fixture
def pickup(attempt):
    made = OptimizerPickup(attempt)
    made.wrap()
    yield made
    made._process_ends()
    del keras.optimizers.Optimizer.apply


@pytest.fixture
def told(attempt, monkeypatch) -> list[facts.Fact]:
    kept: list[facts.Fact] = []
    monkeypatch.setattr(attempt.recorder, "record", kept.append)
    return kept


def trainer(optimizer):
    """A step of a model of its own; tells the loss."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer, "mse")

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(X) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        return loss

    return model, step


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_two_optimizers_are_one_loop_with_all_its_steps(attempt, pickup, told, mode):
    optimizers = [keras.optimizers.Adam(), keras.optimizers.SGD()]
    steps = [trainer(one)[1] for one in optimizers]

    def both():
        return [step() for step in steps]

    run = both if mode == "eager" else tf.function(both)
    for _ in range(STEPS):
        run()
    pickup.end()

    started = [one for one in told if isinstance(one, facts.TrainingStarted)]
    (ended,) = (one for one in told if isinstance(one, facts.TrainingEnded))
    assert {one.training for one in started} == {0}
    assert "Adam" in started[-1].settings["optimizers"]
    assert "SGD" in started[-1].settings["optimizers"]
    assert (ended.reason, ended.last_step) == ("returned", STEPS)
    assert all("apply" not in vars(one) for one in optimizers)


def test_the_loss_of_an_eager_loop_is_what_its_gradients_are_of(attempt, pickup, told):
    _, step = trainer(keras.optimizers.SGD(0.01))

    losses = [float(step()) for _ in range(STEPS)]
    pickup.end()

    (epoch,) = (one for one in told if isinstance(one, facts.EpochEnded))
    assert list(epoch.loss_profile) == losses
    assert attempt.recorder.progress.loss == losses[-1]
    assert missing(told) == []


def test_updates_that_were_made_count_when_the_program_fails_after_them(
    attempt, pickup, told
):
    _, step = trainer(keras.optimizers.SGD(0.01))
    for _ in range(STEPS):
        step()

    end = ProcessEnd(
        reason="exception", happened_at=1.0, exception="OSError", error_id=7
    )
    process_end._tell(end)

    (ended,) = (one for one in told if isinstance(one, facts.TrainingEnded))
    assert (ended.reason, ended.last_step) == ("raised", STEPS)


@pytest.mark.parametrize(
    ("optimizers", "mode", "what"),
    [
        (["sgd", "adam"], "eager", ["the loss of a hand-written loop"]),
        (["scaled"], "eager", ["the loss of a hand-written loop"]),
        (["sgd"], "graph", [optimizer_pickup._NOTHING_INSIDE]),
    ],
)
def test_a_loss_that_cannot_be_known_is_said_to_be_missing(
    attempt, pickup, told, optimizers, mode, what
):
    made = {
        "sgd": keras.optimizers.SGD,
        "adam": keras.optimizers.Adam,
        "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
    }
    steps = [trainer(made[name]())[1] for name in optimizers]
    for _ in range(STEPS):
        for step in steps if mode == "eager" else map(tf.function, steps):
            step()
    pickup.end()

    assert missing(told) == what


@pytest.mark.parametrize("jit_compile", [False, True])
def test_who_asks_for_it_has_loss_and_gradients_of_a_function(
    attempt, told, jit_compile
):
    pickup = OptimizerPickup(attempt, in_graphs=True)
    pickup.wrap()
    model, step = trainer(keras.optimizers.SGD(0.01))
    function = tf.function(step, jit_compile=jit_compile)
    for _ in range(STEPS):
        loss = float(function())
    pickup._process_ends()
    del keras.optimizers.Optimizer.apply

    (epoch,) = (one for one in told if isinstance(one, facts.EpochEnded))
    look = next(one for one in told if isinstance(one, facts.Inspected))
    assert epoch.metrics["loss"] == pytest.approx(loss)
    assert attempt.recorder.progress.loss == pytest.approx(loss)
    assert look.has_gradient == (1.0, 1.0)
    assert look.gradient_norm == pytest.approx(np.hypot(*look.gradient_norms))
    assert len(look.weight_norms) == len(model.weights)
    assert missing(told) == []


def test_a_function_that_is_traced_for_two_shapes_counts_once(attempt, told):
    pickup = OptimizerPickup(attempt, in_graphs=True)
    pickup.wrap()
    optimizer = keras.optimizers.SGD(0.01)
    model, _ = trainer(optimizer)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    for _ in range(STEPS):
        step(X)
        loss = float(step(X[:5]))
    pickup._process_ends()
    del keras.optimizers.Optimizer.apply

    look = next(one for one in told if isinstance(one, facts.Inspected))
    assert look.gradient_norm == pytest.approx(np.hypot(*look.gradient_norms))
    assert attempt.recorder.progress.loss == pytest.approx(loss)


def missing(told: list[facts.Fact]) -> list[str]:
    return [one.what for one in told if isinstance(one, facts.RecordingStopped)]


def test_what_fit_does_is_not_counted_twice(attempt, pickup, told, tmp_path: Path):
    optimizer = keras.optimizers.SGD()
    model, step = trainer(optimizer)
    function = tf.function(step)
    function()
    pickup.end()

    model.fit(X, X[:, :1], 4, 1, 0, [HealthCallback(tmp_path)])
    pickup.fit_ended()
    pickup._look()
    function()
    # Nobody calls `apply` in Python here: the function was traced before.
    pickup._look()
    function()
    pickup.end()

    ended = [one for one in told if isinstance(one, facts.TrainingEnded)]
    assert [one.last_step for one in ended] == [1, 3, 5]


@pytest.mark.parametrize("in_graphs", [False, True])
def test_the_same_weights_come_out_as_without_us(
    attempt, tmp_path: Path, in_graphs: bool
):
    def trained():
        model, step = trainer(keras.optimizers.Adam())
        function = tf.function(step)
        for _ in range(STEPS):
            function()
        return [weight.tobytes() for weight in model.get_weights()]

    bare = trained()
    pickup = OptimizerPickup(attempt, in_graphs=in_graphs)
    pickup.wrap()
    watched = trained()
    pickup._process_ends()
    del keras.optimizers.Optimizer.apply

    assert watched == bare
    assert attempt.recorder.progress.step == STEPS


def test_a_fault_of_ours_does_not_reach_the_loop(attempt, pickup, monkeypatch, caplog):
    optimizer = keras.optimizers.SGD()
    count = optimizer_pickup._iterations

    def broken(one) -> int:
        # Threads of other tests may still count, and are none of this one's.
        if one is optimizer:
            raise RuntimeError("broken")
        return count(one)

    monkeypatch.setattr(optimizer_pickup, "_iterations", broken)
    _, step = trainer(optimizer)

    step()
    step()

    assert int(optimizer.iterations) == 2
    assert len(caplog.records) == 1


def test_a_loop_is_left_when_its_function_is_or_when_lines_behind_it_run():
    place = LoopPlace()
    me = threading.get_ident()

    def loop():
        for _ in range(3):
            place.saw(me)
        within = place.is_there(me)

        def behind():
            return place.is_there(me)

        return within, behind()

    # The line right behind the loop is not in it.
    assert loop() == (False, False)
    assert not place.is_there(me)


def test_a_loop_that_stands_is_still_there():
    place = LoopPlace()
    me = threading.get_ident()
    there = []
    for number in range(4):
        there.append(place.is_there(me)) if number == 3 else place.saw(me)

    assert there == [True]
