"""Loops as people write them, each of them run for real."""

import contextlib
import copy
import functools
import math
import pickle
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tb_health_plugin
from tb_health_plugin.events import facts
from tb_health_plugin.recording.loops import looks
from tb_health_plugin.writing.phases import Phase
from tests.recording.loops.conftest import BATCHES, keras, small_model, step_of, tf

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("time_enough")]
watch = functools.partial(tb_health_plugin.watch, watcher=False)


def test_a_tape_loop_is_told_from_start_to_end(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step, losses = step_of(model, optimizer), []
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            losses.append(float(train_step(x, y)))
            health.step(loss=losses[-1])

    attempt = recorded()
    begun = attempt.last(facts.TrainingStarted)
    assert (begun.loop, begun.model, begun.first_step) == ("loop", "small", 0)
    assert begun.trainable_parameters == 4 * 3 + 3 + 3 + 1
    assert [v.name for v in begun.variables] == [v.path for v in model.variables]
    assert [layer.kind for layer in begun.layers] == ["Dense", "Dense"]
    assert begun.settings["optimizer"] == "SGD"
    assert begun.settings["data.batches"] == str(BATCHES)
    ended = attempt.last(facts.TrainingEnded)
    assert (ended.reason, ended.last_step) == ("returned", BATCHES)
    epoch = attempt.last(facts.EpochEnded)
    assert (epoch.epoch, epoch.first_step, epoch.last_step) == (0, 0, BATCHES)
    assert np.allclose(epoch.loss_profile, losses)
    assert np.isclose(epoch.lowest_loss, min(losses))
    assert not attempt.last(facts.RunEnded).training_under_way
    assert attempt.all(facts.RecordingStopped) == []


def test_looks_hold_what_a_tape_would_say(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    x, y = next(iter(dataset))
    before = [np.array(w) for w in model.get_weights()]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    expected = [float(tf.norm(g)) for g in tape.gradient(loss, model.weights)]

    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        health.step(loss=step_of(model, optimizer)(x, y))

    look = recorded().all(facts.Inspected)[0]
    assert look.step == 0
    assert np.isclose(look.loss, float(loss))
    assert np.allclose(look.gradient_norms, expected, rtol=1e-4)
    assert np.isclose(look.gradient_norm, np.linalg.norm(expected), rtol=1e-4)
    assert np.allclose(look.weight_norms, [np.linalg.norm(w) for w in before])
    # Plain SGD: a step is the gradient times the rate.
    assert np.allclose(look.update_norms, 0.01 * np.array(expected), rtol=1e-3)
    assert look.has_gradient == (1.0,) * 4
    assert np.isclose(look.learning_rate, 0.01)


@pytest.mark.parametrize("gradients", [False, True])
def test_a_step_in_a_function(
    tmp_path: Path, model, optimizer, dataset, recorded, gradients: bool
):
    train_step = tf.function(step_of(model, optimizer))
    options = {"model": model, "optimizer": optimizer, "gradients": gradients}
    with watch(tmp_path, **options) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=train_step(x, y))

    attempt = recorded()
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES
    seen = attempt.all(facts.Inspected)
    assert [look.step for look in seen] == [0, 1, 3, 10]
    assert all(look.has_gradient == (1.0,) * 4 for look in seen)
    for look in seen:
        assert len(look.update_norms) == 4
        norms = np.array(look.gradient_norms)
        # Plain SGD again: measured or not, a gradient shows in the update.
        expected = np.array(look.update_norms) / 0.01
        assert np.allclose(norms, expected, rtol=1e-2) if gradients else not len(norms)
    assert attempt.last(facts.TimeSpent).traces >= 1


def test_a_function_that_was_traced_before_is_left_as_it_is(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    train_step = tf.function(step_of(model, optimizer))
    x, y = next(iter(dataset))
    train_step(x, y)

    with watch(tmp_path, model=model, optimizer=optimizer, gradients=True) as health:
        health.step(loss=train_step(x, y))

    (look,) = recorded().all(facts.Inspected)
    assert (look.gradient_norms, look.has_gradient) == ((), ())
    assert len(look.update_norms) == 4


@pytest.mark.parametrize("in_a_function", [False, True])
def test_steps_are_counted_when_nobody_tells_them(
    tmp_path: Path, model, optimizer, dataset, recorded, in_a_function: bool
):
    train_step = step_of(model, optimizer)
    if in_a_function:
        train_step = tf.function(train_step)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            train_step(x, y)

    attempt = recorded()
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES
    assert attempt.last(facts.TimeSpent).steps == BATCHES


def test_without_a_word_the_busiest_optimizer_counts(tmp_path: Path, dataset, recorded):
    often, seldom = small_model("often"), small_model("seldom")
    optimizers = [keras.optimizers.SGD(0.01), keras.optimizers.SGD(0.01)]
    steps = step_of(often, optimizers[0]), step_of(seldom, optimizers[1])
    with watch(tmp_path, model=[often, seldom], optimizer=optimizers):
        for number, (x, y) in enumerate(dataset):
            steps[0](x, y)
            if number % 4 == 0:
                steps[1](x, y)

    assert recorded().last(facts.TrainingEnded).last_step == BATCHES


def test_the_wait_for_slow_data_is_told_apart_from_the_steps(tmp_path: Path, recorded):
    def slow_data():
        for number in range(5):
            time.sleep(0.1)
            yield number

    with watch(tmp_path) as health:
        for _ in health.dataset(slow_data()):
            health.step(loss=1.0)

    spent = recorded().last(facts.TimeSpent)
    assert spent.wait_seconds >= 0.5
    assert spent.step_seconds < spent.wait_seconds


def test_a_gan_with_two_optimizers(tmp_path: Path, dataset, recorded):
    generator, critic = small_model("generator"), small_model("critic")
    shared = keras.Sequential([generator, keras.layers.Dense(4), critic])
    slow, quick = keras.optimizers.SGD(0.01), keras.optimizers.Adam(0.01)
    train_critic = step_of(critic, quick)

    with watch(
        tmp_path,
        model={"generator": generator, "critic": critic},
        optimizer={"generator": slow, "critic": quick},
    ) as health:
        for number, (x, y) in enumerate(health.dataset(dataset)):
            loss = train_critic(x, y)
            if number % 4 == 3:
                with tf.GradientTape() as tape:
                    fooled = tf.reduce_mean(shared(x) ** 2)
                weights = generator.trainable_variables
                slow.apply(tape.gradient(fooled, weights), weights)
            health.step(loss=loss)

    attempt = recorded()
    begun = attempt.last(facts.TrainingStarted)
    names = [variable.name for variable in begun.variables]
    assert len(set(names)) == 8
    assert begun.model == "generator, critic"
    assert begun.settings["optimizers"] == "generator: SGD, critic: Adam"
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES
    seen = {look.step: look for look in attempt.all(facts.Inspected)}
    # The generator had no turn by step 1: nothing is said about its weights.
    assert seen[1].has_gradient == ()
    assert seen[10].has_gradient == (1.0,) * 8


def test_a_loop_with_an_environment_and_no_data(tmp_path: Path, recorded):
    """As in reinforcement learning: episodes of any length, updates between them."""
    policy, optimizer = small_model(), keras.optimizers.Adam(0.01)
    rng = np.random.default_rng(0)
    health = watch(tmp_path, model=policy, optimizer=optimizer)
    for _ in range(5):
        states = rng.normal(size=(rng.integers(3, 9), 4)).astype("float32")
        rewards = states[:, :1]
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(policy(states) * rewards)
        weights = policy.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        health.step(loss=loss, reward=float(rewards.sum()))
    health.close()

    attempt = recorded()
    assert attempt.last(facts.TrainingEnded).last_step == 5
    assert set(attempt.last(facts.EpochEnded).metrics) == {"loss", "reward"}
    spent = attempt.last(facts.TimeSpent)
    assert spent.wait_seconds is None
    assert spent.step_seconds > 0


def test_a_loop_without_any_framework(tmp_path: Path, recorded):
    with watch(tmp_path, planned_steps=20) as health:
        for number in health.dataset(range(20)):
            health.step(loss=1.0 / (number + 1))

    attempt = recorded()
    assert attempt.last(facts.TrainingEnded).last_step == 20
    assert attempt.last(facts.EpochEnded).planned_steps == 20
    assert attempt.all(facts.RecordingStopped) == []


def test_data_that_is_cut_short(tmp_path: Path, dataset, recorded):
    with watch(tmp_path, planned_steps=BATCHES) as health:
        for _ in health.dataset(dataset.take(5)):
            health.step(loss=1.0)

    attempt = recorded()
    assert attempt.last(facts.EpochEnded).planned_steps == BATCHES
    assert attempt.last(facts.EpochEnded).last_step == 5


def test_a_loop_that_is_left_on_purpose_did_not_run_out_of_data(
    tmp_path: Path, dataset, recorded
):
    with watch(tmp_path, planned_steps=BATCHES) as health:
        for _ in health.dataset(dataset):
            health.step(loss=1.0)
            break

    assert recorded().last(facts.EpochEnded).planned_steps is None


def test_gradients_accumulated_by_hand(tmp_path: Path, model, dataset, recorded):
    optimizer = keras.optimizers.SGD(0.01)
    weights = model.trainable_variables
    total = [tf.zeros_like(w) for w in weights]
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for number, (x, y) in enumerate(health.dataset(dataset)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            parts = zip(total, tape.gradient(loss, weights), strict=True)
            total = [a + b for a, b in parts]
            if number % 4 == 3:
                optimizer.apply(total, weights)
                total = [tf.zeros_like(w) for w in weights]
            health.step(loss=loss)

    attempt = recorded()
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES
    later = [look for look in attempt.all(facts.Inspected) if look.step > 3]
    # A look waits for the step that updates.
    assert later
    assert all(look.step % 4 == 3 and look.gradient_norm for look in later)


def test_epochs_of_a_loop_that_knows_them(tmp_path: Path, dataset, recorded):
    with watch(tmp_path) as health:
        data = health.dataset(dataset)
        for epoch in range(3):
            for _ in data:
                health.step(loss=float(epoch))
            health.epoch_end(val_loss=0.5)

    attempt = recorded()
    epochs = attempt.all(facts.EpochEnded)
    assert [(e.epoch, e.first_step, e.last_step) for e in epochs] == [
        (0, 0, BATCHES),
        (1, BATCHES, 2 * BATCHES),
        (2, 2 * BATCHES, 3 * BATCHES),
    ]
    assert [e.metrics for e in epochs] == [
        {"loss": float(n), "val_loss": 0.5} for n in range(3)
    ]
    assert attempt.last(facts.TrainingEnded).epochs_done == 3


def test_variables_that_no_loss_reaches_and_those_nobody_trains(
    tmp_path: Path, dataset, recorded
):
    model, apart = small_model(), keras.layers.Dense(2)
    apart.build((None, 4))
    left_out = small_model("left_out")
    optimizer = keras.optimizers.SGD(0.01)

    @tf.function
    def train_step(x, y):
        weights = model.trainable_variables + apart.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    def train():
        both = keras.Sequential([keras.Input((4,)), apart])
        models = [model, both, left_out]
        with watch(tmp_path, model=models, optimizer=optimizer) as health:
            for x, y in health.dataset(dataset):
                health.step(loss=train_step(x, y))

    with pytest.warns(UserWarning, match="Gradients do not exist"):
        train()

    attempt = recorded()
    names = [v.name for v in attempt.last(facts.TrainingStarted).variables]
    has_gradient = attempt.last(facts.Inspected).has_gradient
    without = [n for n, has in zip(names, has_gradient, strict=True) if has == 0.0]
    assert without == names[4:]


def test_a_model_that_is_built_by_its_first_step(tmp_path: Path, dataset, recorded):
    class Late(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = keras.layers.Dense(1)

        def call(self, x):
            return self.layer(x)

    model, optimizer = Late(), keras.optimizers.SGD(0.01)
    train_step = step_of(model, optimizer)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=train_step(x, y))

    attempt = recorded()
    begun = attempt.all(facts.TrainingStarted)
    assert {fact.training for fact in begun} == {0}
    assert (len(begun[0].variables), len(begun[-1].variables)) == (0, 2)
    assert attempt.last(facts.Inspected).has_gradient == (1.0, 1.0)
    assert len(attempt.last(facts.Inspected).update_norms) == 2


def test_train_on_batch_uses_the_optimizer_it_was_compiled_with(
    tmp_path: Path, model, dataset, recorded
):
    model.compile("sgd", "mse")
    with watch(tmp_path, model=model) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=model.train_on_batch(x, y))

    attempt = recorded()
    assert attempt.last(facts.TrainingStarted).settings["optimizer"] == "SGD"
    assert attempt.last(facts.Inspected).has_gradient == (1.0,) * 4


def test_a_loop_and_a_fit_are_one_story(tmp_path: Path, model, dataset, recorded):
    model.compile("sgd", "mse")
    callback = tb_health_plugin.HealthCallback(tmp_path, watcher=False)
    model.fit(dataset, shuffle=False, verbose=0, callbacks=[callback])
    with watch(tmp_path, model=model) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=model.train_on_batch(x, y))

    begun = {f.training: f for f in recorded().all(facts.TrainingStarted)}
    assert sorted(begun) == [0, 1]
    assert begun[1].first_step == BATCHES


def test_two_watches_at_once(tmp_path: Path, dataset, recorded):
    with watch(tmp_path / "a") as one, watch(tmp_path / "b") as other:
        for number, _ in enumerate(one.dataset(dataset)):
            one.step(loss=1.0)
            if number % 2:
                other.step(loss=2.0)

    assert recorded(tmp_path / "a").last(facts.TrainingEnded).last_step == BATCHES
    assert recorded(tmp_path / "b").last(facts.TrainingEnded).last_step == BATCHES // 2


# Keras' own way to copy a variable, as numpy sees it.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_nothing_stays_on_model_and_optimizer(
    tmp_path: Path, model, optimizer, dataset
):
    x, y = next(iter(dataset))
    optimizer.build(model.trainable_variables)
    before = set(vars(model)), set(vars(optimizer))
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        health.step(loss=step_of(model, optimizer)(x, y))
        # Also while it is watched.
        copy.deepcopy(optimizer)
        assert np.allclose(pickle.loads(pickle.dumps(model))(x), model(x))

    assert (set(vars(model)), set(vars(optimizer))) == before
    model.save(tmp_path / "model.keras")
    assert np.allclose(keras.models.load_model(tmp_path / "model.keras")(x), model(x))


@pytest.mark.parametrize("in_a_function", [False, True])
def test_the_same_weights_come_out_as_without_us(
    tmp_path: Path, dataset, in_a_function: bool
):
    def nobody(*args, **options):
        plain = SimpleNamespace(dataset=lambda data: data, step=lambda loss: None)
        return contextlib.nullcontext(plain)

    def train(health) -> list[np.ndarray]:
        model, optimizer = small_model(), keras.optimizers.Adam(0.01)
        train_step = step_of(model, optimizer)
        if in_a_function:
            train_step = tf.function(train_step)
        with health(tmp_path, model=model, optimizer=optimizer) as watched:
            for x, y in watched.dataset(dataset):
                watched.step(loss=train_step(x, y))
        return model.get_weights()

    assert all(map(np.array_equal, train(watch), train(nobody)))


def test_code_of_an_optimizer_is_still_converted_by_autograph(
    tmp_path: Path, model, dataset, recorded
):
    class Own(keras.optimizers.SGD):
        def apply(self, grads, trainable_variables=None):
            if tf.norm(grads[0]) > 1e6:  # a tensor as a condition: autograph's work
                grads = [g * 0.0 for g in grads]
            return super().apply(grads, trainable_variables)

    optimizer = Own(0.01)
    weights = model.trainable_variables
    optimizer.build(weights)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=train_step(x, y))

    assert recorded().last(facts.Inspected).has_gradient == (1.0,) * 4


def test_a_fault_of_ours_does_not_reach_the_loop(
    tmp_path: Path, model, optimizer, dataset, recorded, monkeypatch
):
    def fail(*args):
        raise OSError("no room")

    monkeypatch.setattr(looks.Looks, "after", fail)
    train_step = step_of(model, optimizer)
    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            health.step(loss=train_step(x, y))

    attempt = recorded()
    (stopped,) = attempt.all(facts.RecordingStopped)
    assert "no room" in stopped.why
    assert attempt.last(facts.TrainingEnded).last_step == BATCHES


def test_a_step_told_inside_a_function_is_said_once(
    tmp_path: Path, model, optimizer, dataset, recorded
):
    inner = step_of(model, optimizer)

    @tf.function
    def train_step(x, y):
        loss = inner(x, y)
        health.step(loss=loss)
        return loss

    with watch(tmp_path, model=model, optimizer=optimizer) as health:
        for x, y in health.dataset(dataset):
            train_step(x, y)

    (stopped,) = recorded().all(facts.RecordingStopped)
    assert "tf.function" in stopped.why


def test_data_inside_a_function_is_refused_in_clear_words(tmp_path: Path, dataset):
    @tf.function
    def train(data):
        for _ in data:
            pass

    with (
        watch(tmp_path) as health,
        pytest.raises(TypeError, match="the dataset itself"),
    ):
        train(health.dataset(dataset))


def test_data_still_has_its_own_attributes(tmp_path: Path, dataset):
    with watch(tmp_path) as health:
        data = health.dataset(dataset)
        assert data.element_spec == dataset.element_spec
        assert len(data) == BATCHES
        assert len(list(enumerate(data))) == BATCHES
        assert next(iter(data))[0].shape == (8, 4)


@pytest.mark.parametrize("loss", [np.float32(2.0), tf.constant(2.0), [1.0, 3.0], 2])
def test_a_loss_may_be_any_kind_of_number(tmp_path: Path, recorded, loss):
    with watch(tmp_path) as health:
        health.step(loss=loss)

    assert recorded().last(facts.EpochEnded).metrics == {"loss": 2.0}


def test_phases_tell_what_the_loop_does(tmp_path: Path, dataset):
    health = watch(tmp_path)
    progress = health._loop._recorder.progress
    phases = [Phase(progress.phase)]
    for _ in health.dataset(dataset.take(4)):
        health.step(loss=1.0)
        phases.append(Phase(progress.phase))
    phases.append(Phase(progress.phase))
    health.close()

    starting, training = Phase.STARTING, Phase.TRAINING
    assert phases == [
        *(starting, starting, training, training, training),
        Phase.BETWEEN_EPOCHS,
    ]
    assert progress.phase == Phase.NOT_TRAINING
    assert math.isclose(progress.loss, 1.0)


def test_after_the_end_nothing_happens(tmp_path: Path, recorded):
    health = watch(tmp_path)
    health.step(loss=1.0)
    health.close()
    health.step(loss=1.0)
    health.epoch_end()
    health.close()

    attempt = recorded()
    assert len(attempt.all(facts.TrainingEnded)) == 1
    assert attempt.last(facts.TrainingEnded).last_step == 1


def test_a_log_directory_that_cannot_be_used_is_an_error_at_once(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file"):
        watch(tmp_path / "file")
