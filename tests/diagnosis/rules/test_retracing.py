"""Graphs built again and again, and the few that every run builds."""

import pytest

from tb_health_plugin.diagnosis.rules.retracing import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    time_spent,
    training_ended,
    training_started,
)

WARNING = facts.ProgramSaid(
    wall_time=START + 3,
    step=7,
    logger="tensorflow",
    message="5 out of the last 5 calls to <function train_step at 0x7f> triggered "
    "tf.function retracing. Tracing is expensive and the excessive number of tracings",
)


def run(traces, *told, steps=20, step_seconds=4.0, settings=None):
    spent = [
        {"traces": count, "steps": steps, "step_seconds": step_seconds}
        for count in traces
    ]
    return ask(
        RULE,
        training_started(settings=settings),
        *time_spent(spent),
        *told,
        training_ended(100, steps * len(traces)),
    )


class TestRetracing:
    def test_in_nearly_every_step(self):
        found = run([18, 19, 20])

        assert isinstance(found, Verdict)
        assert found.confidence == "proven"
        assert found.headline == "TensorFlow traced the model 57 times in 60 steps"

    def test_the_function_is_the_one_tensorflow_names(self):
        found = run([18, 19, 20], WARNING)

        assert isinstance(found, Verdict)
        assert found.place == {"function": "train_step"}
        assert found.detail == "train_step"

    @pytest.mark.parametrize(
        ("elements", "specs"),
        [
            (
                "float32[32, 8], int64[32]",
                "tf.TensorSpec([None, 8], tf.float32), tf.TensorSpec([None], tf.int64)",
            ),
            ("float32[32, 8], float32[]", "tf.TensorSpec([None, None])"),
            ("", "tf.TensorSpec([None, None])"),
        ],
    )
    def test_the_shapes_are_those_of_its_data(self, elements: str, specs: str):
        settings = {"data.elements": elements, "data.kind": "tf.data"}

        found = run([18, 19, 20], settings=settings)

        assert isinstance(found, Verdict)
        assert found.fixes[2].code == f"@tf.function(input_signature=[{specs}])"

    def test_only_tensorflow_noticed(self):
        found = run([0, 0, 0], WARNING)

        assert isinstance(found, Verdict)
        assert found.confidence == "likely"
        assert found.headline == "TensorFlow traced train_step anew in 5 of 5 calls"
        assert found.cause_at.step == 7

    def test_in_a_run_of_one_stretch(self):
        assert isinstance(run([40], steps=50), Verdict)


class TestHealthy:
    def test_training_validation_and_smaller_last_batches(self):
        assert run([6, 2, 0, 0]) is None

    def test_shapes_that_have_all_been_seen(self):
        assert run([15, 3, 0, 0, 0, 0]) is None

    def test_a_few_among_many_steps(self):
        assert run([3, 2, 3, 2, 3, 2], steps=2_000) is None

    def test_a_warning_about_the_shapes_that_there_are(self):
        assert run([10, 0, 0, 0], WARNING, steps=400) is None
        # Fewer were counted than it speaks of: it means another function.
        assert run([3, 0, 0, 0], WARNING, steps=400) is not None

    def test_a_new_model_for_each_training(self):
        second = training_started(50, training=1)

        assert run([2, 0], WARNING, second) is None

    def test_nothing_was_counted(self):
        assert run([None, None]) is None

    def test_no_training(self):
        assert ask(RULE) is None
