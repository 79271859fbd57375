"""Steps that are slower than they need to be, and those that only vary."""

import numpy as np
import pytest

from tb_health_plugin.diagnosis.rules.slow_step import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    time_spent,
    training_ended,
    training_started,
)

EAGER = {"run_eagerly": "True"}


def eager(*, settings=EAGER, seconds=5.0, steps=50, step_seconds=4.5, more=()):
    spent = [{"seconds": seconds, "steps": steps, "step_seconds": step_seconds}]
    return ask(
        RULE,
        training_started(settings=settings),
        *more,
        *time_spent(spent),
        training_ended(seconds, steps),
    )


# Paces of each second.
SHORT = [0.01, 0.012, 0.016, 0.02, 0.024, 0.027, 0.03, 0.034, 0.038, 0.04]


def course(paces, *, work=None, told=(), stretch=5.0, fine=None):
    """A training whose steps took `paces` seconds, and `work` of CPU time, each.

    With `fine`, both are those of each second.
    """
    work = paces if work is None else work
    spent, times, steps, cpu = [], [START], [0.0], [0.0]
    for number, (pace, load) in enumerate(zip(paces, work, strict=True)):
        count = max(1, round(stretch / pace))
        spent.append({"seconds": stretch, "steps": count, "step_seconds": count * pace})
        for second in range(5):
            each = fine[5 * number + second] if fine else 0.0
            done = stretch / 5 / each if fine else count / 5
            times.append(times[-1] + stretch / 5)
            steps.append(steps[-1] + done)
            cpu.append(cpu[-1] + done * (each or load))
    samples = {"wall_time": times, "step": steps, "tree_cpu_seconds": cpu}
    return ask(
        RULE,
        training_started(),
        *time_spent(spent),
        *told,
        training_ended(stretch * len(paces), int(steps[-1])),
        samples=samples,
    )


class TestEager:
    def test_left_on_after_debugging(self):
        found = eager()

        assert isinstance(found, Verdict)
        assert found.detail == "eager"
        assert found.severity == "warning"
        assert "90 ms each" in found.headline

    def test_a_graph_is_fine(self):
        assert eager(settings={"run_eagerly": "False"}) is None

    def test_a_loop_whose_functions_all_run_eagerly(self):
        found = eager(settings={"functions.eager": "True"})

        assert found.fixes[0].code == "tf.config.run_functions_eagerly(False)"
        assert eager(settings={"functions.eager": "False"}) is None

    def test_set_for_the_whole_program(self):
        said = facts.ProgramSaid(
            wall_time=START,
            step=0,
            message="Even though the `tf.config.experimental_run_functions_eagerly` "
            "option is set, this option does not apply to tf.data functions.",
        )

        found = eager(settings={"run_eagerly": "False"}, more=[said])

        assert isinstance(found, Verdict)
        assert found.detail == "eager"
        assert found.fixes[0].code == "tf.config.run_functions_eagerly(False)"

    def test_a_look_at_a_few_steps_is_fine(self):
        assert eager(steps=8) is None

    def test_tiny_steps_lose_nothing(self):
        assert eager(seconds=2.2, steps=1_000, step_seconds=2.1) is None

    def test_not_if_the_time_goes_elsewhere(self):
        assert eager(seconds=60.0, steps=50, step_seconds=3.0) is None


class TestSlowingDown:
    def test_each_step_does_more_than_the_one_before(self):
        found = course(np.linspace(0.05, 0.3, 12))

        assert isinstance(found, Verdict)
        assert found.detail == "slowing_down"
        assert found.severity == "warning"

    def test_a_run_of_ten_seconds(self):
        found = course([0.01, 0.03], work=[0.01, 0.03], fine=SHORT)

        assert isinstance(found, Verdict)
        assert found.detail == "slowing_down"

    def test_a_run_of_ten_seconds_that_changes_once(self):
        assert course([0.01, 0.03], fine=[0.01] * 5 + [0.03] * 5) is None

    def test_a_busy_machine_takes_no_more_cpu_time(self):
        found = course(np.linspace(0.05, 0.3, 12), work=[0.05] * 12)

        assert found is None

    def test_steps_that_vary_threefold(self):
        rng = np.random.default_rng(5)
        for _ in range(50):
            assert course(0.05 * (1 + 2 * rng.random(12))) is None

    def test_one_change_in_the_middle(self):
        assert course([0.05] * 6 + [0.2] * 6) is None

    def test_a_rise_that_ends(self):
        assert course([0.05, 0.1, 0.15, 0.2, *[0.2] * 12]) is None

    def test_batches_that_grow(self):
        def batch(length):
            field = facts.Field(name="x", shape=(32, length))
            return facts.BatchSeen(wall_time=START, training=0, fields=(field,))

        told = (batch(10), batch(200))

        assert course(np.linspace(0.05, 0.3, 12), told=told) is None

    def test_a_short_run(self):
        assert course([0.05, 0.1, 0.2]) is None


def test_a_gpu_that_could_not_be_used():
    said = facts.ProgramSaid(
        wall_time=START,
        message="Cannot dlopen some GPU libraries. Skipping registering GPU devices...",
    )
    spent = [{"seconds": 9.0, "steps": 50, "step_seconds": 8.0}]

    found = ask(
        RULE,
        training_started(settings={"gpus": "0"}),
        *time_spent(spent),
        said,
        training_ended(9, 50),
    )

    assert isinstance(found, Verdict)
    assert found.detail == "placed_on_cpu"


@pytest.mark.parametrize("odd", [float("nan"), -1.0, None])
def test_odd_numbers(odd):
    assert eager(step_seconds=odd) is None


def test_no_training():
    assert ask(RULE) is None
