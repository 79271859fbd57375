"""What is kept of the last steps, and how much of it."""

import numpy as np
import pytest

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.live

from tb_health_plugin.recording.fitting import recent_steps  # noqa: E402
from tb_health_plugin.recording.fitting.recent_steps import RecentSteps  # noqa: E402
from tb_health_plugin.recording.fitting.step_clock import StepClock  # noqa: E402

BATCH = tf.zeros([8, 4])


@pytest.fixture
def model():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("adam", "mse")
    made.optimizer.build(made.trainable_variables)
    return made


def recent_of(model, step_seconds: float = 1.0) -> RecentSteps:
    clock = StepClock()
    for _ in range(3):
        clock.took(step_seconds)
    return RecentSteps(model, clock, lambda seconds: None)


def run(recent: RecentSteps, steps: int, batch=BATCH) -> None:
    run_on(recent, 0, steps, batch)


def run_on(recent: RecentSteps, first: int, end: int, batch=BATCH) -> None:
    for step in range(first, end):
        if step >= recent.due:
            recent.keep_state(step, step, batch)
        recent.saw(step, 0, batch)


def test_two_states_and_all_batches_since_the_older_one_are_kept(model):
    recent = recent_of(model)
    run(recent, 40)

    found = recent.leading_to(39)
    assert [state.step for state, _ in found] == [16, 32]
    assert [one.step for one in found[0][1]] == list(range(16, 40))


def test_a_kept_state_stays_what_it_was_and_can_be_put_back(model):
    recent = recent_of(model)
    before = model.get_weights()
    run(recent, 1)
    model.set_weights([weight + 1 for weight in before])

    ((state, _),) = recent.leading_to(0)
    state.kept.put_back()
    for now, then in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_batches_are_kept_within_bounds(model, monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_BATCH_BYTES", 10 * 8 * 4 * 4)
    recent = recent_of(model)
    run(recent, 100)

    assert len(recent.batches()) == 10
    # So that the states fit to what is kept, they are nearer to each other.
    assert recent.leading_to(99)


def test_of_large_batches_the_last_few_are_kept(model, monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_BATCH_BYTES", 100)
    recent = recent_of(model)
    run(recent, 20)

    assert [seen.step for seen in recent.batches()] == [18, 19]


def test_batches_too_large_to_keep_are_let_go(model, monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_BATCH_BYTES", 100)
    monkeypatch.setattr(recent_steps, "_LARGE_SHARE", 0.0)
    recent = recent_of(model)
    run(recent, 20)

    assert recent.batches() == []


def test_states_are_far_apart_where_steps_are_short(model):
    recent = recent_of(model, step_seconds=1e-5)
    run(recent, 1)

    assert recent.due > 16


def test_of_a_larger_model_one_state_is_kept(model, monkeypatch):
    state = recent_steps.bytes_in(recent_steps.everything(model))
    monkeypatch.setattr(recent_steps, "_MOST_STATES_BYTES", int(state * 1.5))
    recent = recent_of(model)
    run(recent, 40)

    assert [state.step for state, _ in recent.leading_to(39)] == [32]


def test_where_few_batches_fit_and_steps_are_short_no_state_is_kept(model, monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_BATCH_BYTES", 10 * 8 * 4 * 4)
    recent = recent_of(model, step_seconds=1e-6)
    run(recent, 4)
    recent.due = 4
    run_on(recent, 4, 8)

    assert recent.leading_to(7) == []
    assert [one.step for one in recent.batches()] == [6, 7]
    assert "too large to keep all" in recent.why_no_state()


def test_of_a_model_too_large_no_state_is_kept(model, monkeypatch):
    monkeypatch.setattr(recent_steps, "_MOST_STATES_BYTES", 10)
    recent = recent_of(model)
    run(recent, 20)

    assert recent.leading_to(19) == []
    assert "too large" in recent.why_no_state()


def test_steps_that_nobody_saw_break_the_way_here(model):
    recent = recent_of(model)
    run(recent, 20)
    recent.forget("somebody looked away")

    assert recent.leading_to(19) == []
    assert recent.why_no_state() == "somebody looked away"
