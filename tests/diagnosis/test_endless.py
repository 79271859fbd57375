"""Epochs and validations that cannot end, and those that only take long."""

import signal
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

ALIVE = Life(alive=True, because="Process 7 is running.")
GONE = Life(alive=False, because="Process 7 is gone.")
ENDLESS = {"validation.infinite": "True", "validation.kind": "tf.data"}


def story(
    settings: Mapping[str, str],
    *told: facts.Fact,
    life: Life = GONE,
    planned: int | None = 50,
    step: int = 50,
    samples: Mapping[str, Sequence[float]] | None = None,
    **more,
) -> Story:
    attempt = Attempt("a")
    if samples:
        attempt.samples.append({n: np.asarray(v, float) for n, v in samples.items()})
    attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
    attempt.add(
        facts.TrainingStarted(
            wall_time=2.0,
            training=0,
            initial_epoch=0,
            planned_epochs=3,
            planned_steps_per_epoch=planned,
            first_step=0,
            loop="fit",
            settings=settings,
            **more,
        )
    )
    attempt.add(facts.TimeSpent(wall_time=5.0, step=step, training=0))
    for fact in told:
        attempt.add(fact)
    return tell(attempt, life)


def killed(phase: str, number: int = signal.SIGKILL, **more) -> facts.ProcessEnded:
    return facts.ProcessEnded(
        wall_time=40.0,
        step=50,
        signal=int(number),
        phase=phase,
        silent_seconds=0.01,
        **more,
    )


class TestValidation:
    def test_killed_in_it(self):
        told = story(ENDLESS, killed("validation"))

        assert (told.state, told.verdict.id) == ("died", "endless_epoch")
        assert (told.verdict.detail, told.verdict.confidence) == (
            "validation",
            "proven",
        )
        assert told.headline == (
            "The validation of epoch 1 could not end: its data never does"
        )
        assert [fix.code for fix in told.verdict.fixes] == [
            "validation_steps=10",
            r"grep -rnE '\.repeat\(' --include='*.py' .",
        ]

    def test_a_generator_can_give_way_to_arrays(self):
        told = story({**ENDLESS, "validation.kind": "generator"}, killed("validation"))

        assert told.verdict.fixes[1].code == "validation_data=(x_val, y_val)"

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_ended_in_it_otherwise(self, number: int):
        assert story(ENDLESS, killed("validation", number)).verdict.id == (
            "endless_epoch"
        )

    def test_ctrl_c_that_python_saw(self):
        left = facts.TrainingEnded(
            wall_time=40.0,
            step=50,
            training=0,
            reason="raised",
            exception="KeyboardInterrupt",
            during="validation",
        )

        assert story(ENDLESS, left).verdict.id == "endless_epoch"

    def test_while_it_runs(self):
        told = story(ENDLESS, life=ALIVE)

        assert (told.state, told.verdict.id) == ("stuck", "endless_epoch")
        assert "cannot end" in told.headline

    def test_not_yet_in_it(self):
        assert story(ENDLESS, life=ALIVE, step=30).state == "running"

    def test_validation_steps_end_it(self):
        settings = {**ENDLESS, "validation_steps": "10"}

        assert story(settings, killed("validation")).verdict.id == "killed_outside"

    def test_killed_elsewhere(self):
        assert story(ENDLESS, killed("training")).verdict.id == "killed_outside"

    def test_killed_for_memory(self):
        told = story(ENDLESS, killed("validation", cgroup_oom_kills=1))

        assert told.verdict.id == "host_oom"

    def test_data_that_ends(self):
        settings = {"validation.kind": "tf.data", "validation.batches": "900"}

        assert story(settings, killed("validation")).verdict.id == "killed_outside"


class TestValidationWithoutAPlan:
    SETTINGS: ClassVar = {"validation.kind": "generator"}

    def samples(self, stood: int) -> dict[str, list[float]]:
        """The epoch takes 2 seconds, and then there are no more steps."""
        return {
            "wall_time": [2.0 + n for n in range(3 + stood)],
            "step": [0.0, 25.0, *[50.0] * (1 + stood)],
        }

    def test_far_longer_than_the_epoch(self):
        told = story(self.SETTINGS, killed("validation"), samples=self.samples(38))

        assert (told.verdict.id, told.verdict.confidence) == (
            "endless_epoch",
            "possible",
        )
        assert " probably could not end" in told.headline

    def test_some_times_as_long(self):
        seen = facts.ProcessEnded(
            wall_time=14.0, step=50, signal=9, phase="validation", silent_seconds=0.1
        )

        told = story(self.SETTINGS, seen, samples=self.samples(10))

        assert told.verdict.id == "killed_outside"

    def test_one_that_had_ended_before(self):
        before = facts.EpochEnded(
            wall_time=2.5, step=25, training=0, epoch=0, validation_steps=10
        )

        told = story(
            self.SETTINGS, before, killed("validation"), samples=self.samples(38)
        )

        assert told.verdict.id == "killed_outside"


class TestEpoch:
    SETTINGS: ClassVar = {"data.infinite": "True", "data.kind": "tf.data"}

    def test_killed_in_it(self):
        told = story(self.SETTINGS, killed("training"), planned=None)

        assert (told.verdict.id, told.verdict.detail) == ("endless_epoch", "epoch")

    def test_a_generator_without_an_end(self):
        settings = {**self.SETTINGS, "data.kind": "generator"}

        told = story(settings, killed("training"), planned=None)

        assert told.verdict.id == "endless_epoch"
        assert told.verdict.evidence[0].text == (
            "The data comes from a generator that never returns, and steps_per_epoch "
            "is not set."
        )

    def test_a_generator_that_may_end(self):
        told = story({"data.kind": "generator"}, killed("training"), planned=None)

        assert told.verdict.id == "killed_outside"

    def test_a_generator_whose_loop_has_a_way_out_that_may_never_come(self):
        settings = {"data.kind": "generator", "data.loops_for_ever": "True"}

        told = story(settings, killed("training"), planned=None)

        verdict = told.verdict
        assert (verdict.id, verdict.confidence) == ("endless_epoch", "possible")
        assert "probably could not end" in verdict.headline
        assert "while True" in verdict.evidence[0].text
        # As long as it runs, its end may come.
        assert story(settings, planned=None, life=ALIVE).verdict is None

    def test_a_callback_may_be_what_ends_it(self):
        settings = {**self.SETTINGS, "callbacks": "TensorBoard,StopAfter"}

        told = story(settings, killed("training"), planned=None)

        assert told.verdict.id == "killed_outside"

    def test_callbacks_that_never_stop_it(self):
        settings = {**self.SETTINGS, "callbacks": "TensorBoard,ModelCheckpoint"}

        told = story(settings, killed("training"), planned=None)

        assert told.verdict.id == "endless_epoch"

    @pytest.mark.parametrize(
        ("stopping", "verdict"),
        [
            ("none", "endless_epoch"),
            ("EarlyStopping", "endless_epoch"),
            ("StopAfter", "killed_outside"),
        ],
    )
    def test_what_the_code_of_callbacks_says(self, stopping: str, verdict: str):
        settings = {
            **self.SETTINGS,
            "callbacks": "EarlyStopping, StopAfter, Plot",
            "callbacks.stopping": stopping,
        }

        told = story(settings, killed("training"), planned=None)

        assert told.verdict.id == verdict

    def test_not_while_it_runs_if_only_the_code_of_callbacks_says_so(self):
        settings = {
            **self.SETTINGS,
            "callbacks": "Plot",
            "callbacks.stopping": "none",
        }

        assert story(settings, life=ALIVE, planned=None).verdict is None

    def test_steps_per_epoch_end_it(self):
        settings = {**self.SETTINGS, "steps_per_epoch": "50"}

        assert story(settings, killed("training")).verdict.id == "killed_outside"

    def test_a_loop_of_the_program_ends_when_it_likes(self):
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
        attempt.add(
            facts.TrainingStarted(
                wall_time=2.0, training=0, loop="loop", settings=self.SETTINGS
            )
        )
        attempt.add(killed("training"))

        assert tell(attempt, GONE).verdict.id == "killed_outside"
