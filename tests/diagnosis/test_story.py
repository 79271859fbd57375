"""How a run ended, in words, and never more certain than the record."""

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

ALIVE = Life(alive=True, because="Process 1 is running.")
GONE = Life(alive=False, because="Process 1 is gone.")

START = facts.RunStarted(wall_time=1.0, pid=1)
BEGUN = facts.TrainingStarted(
    wall_time=2.0, training=0, initial_epoch=0, planned_epochs=3
)
STEP_7 = facts.EpochEnded(wall_time=3.0, step=7, epoch=0)


def returned(epochs: int = 3, training: int = 0) -> facts.TrainingEnded:
    return facts.TrainingEnded(
        wall_time=9.0, step=1_234, training=training, epochs_done=epochs
    )


def ended(reason: str, **more) -> facts.RunEnded:
    return facts.RunEnded(
        wall_time=10.0, step=more.pop("step", 7), reason=reason, **more
    )


def story(*told: facts.Fact, life: Life = GONE) -> Story:
    attempt = Attempt("a")
    for fact in told:
        attempt.add(fact)
    return tell(attempt, life)


class TestRunning:
    def test_a_living_process_with_a_training_under_way(self):
        told = story(START, BEGUN, STEP_7, life=ALIVE)

        assert told == Story(
            state="running",
            chip="Running",
            severity="info",
            headline="Running, at step 7",
        )

    def test_before_the_first_step(self):
        assert story(START, life=ALIVE).headline == "Running, before the first step"

    def test_a_cell_that_failed_before_a_training(self):
        failed = facts.Incident(
            wall_time=1.5, kind="cell_failed", message="A cell ended with NameError: x"
        )

        told = story(START, failed, life=ALIVE)

        assert (told.state, told.severity) == ("running", "info")
        assert told.headline == "No training yet. A cell ended with NameError: x"
        assert story(START, failed, BEGUN, STEP_7, life=ALIVE).chip == "Running"

    def test_an_end_that_is_being_written(self):
        due = Life(alive=False, because="It has ended.", end_due=True)

        told = story(START, BEGUN, STEP_7, life=due)

        assert (told.chip, told.severity, told.verdict) == ("Ending", "info", None)
        assert "look again" in told.headline

    def test_a_notebook_whose_training_is_done_is_not_running(self):
        assert story(START, BEGUN, returned(), life=ALIVE).state == "finished"

    def test_a_second_training_is_running_again(self):
        second = facts.TrainingStarted(wall_time=9.5, training=1, planned_epochs=3)

        assert story(START, BEGUN, returned(), second, life=ALIVE).state == "running"


class TestFinished:
    def test_all_planned_epochs(self):
        told = story(START, BEGUN, returned(), ended("finished"))

        assert told.state == "finished"
        assert told.headline == "Finished as planned at step 1,234"
        assert told.verdict is None

    def test_fewer_epochs_than_planned(self):
        told = story(START, BEGUN, returned(epochs=2), ended("finished"))

        assert told.state == "ended_early"
        assert told.headline == "Ended at step 1,234, after 2 of 3 epochs"

    def test_continued_training_counts_its_own_epochs(self):
        begun = facts.TrainingStarted(
            wall_time=2.0, training=0, initial_epoch=4, planned_epochs=8
        )

        assert story(START, begun, returned(epochs=4)).state == "finished"

    def test_a_process_killed_after_the_training_finished(self):
        assert story(START, BEGUN, returned()).state == "finished"


class TestShortEpochs:
    def epochs(self, *steps: int) -> list[facts.EpochEnded]:
        made, first = [], 0
        for number, count in enumerate(steps):
            made.append(
                facts.EpochEnded(
                    wall_time=5.0,
                    training=0,
                    epoch=number,
                    first_step=first,
                    last_step=first + count,
                    planned_steps=20,
                )
            )
            first += count
        return made

    def test_an_input_that_ran_out_is_told_with_planned_and_done(self):
        told = story(START, BEGUN, *self.epochs(20, 12, 20), returned())

        assert told.verdict.id == "data_exhausted"
        assert told.headline == ("The input ran out: 52 of 60 planned steps were run")
        assert told.verdict.evidence[0].text == "Epoch 2 had 12 of 20 planned steps."

    def test_full_epochs_are_as_planned(self):
        assert story(START, BEGUN, *self.epochs(20, 20, 20), returned()).verdict is None

    def test_a_last_epoch_that_a_callback_cut_proves_nothing(self):
        told = story(START, BEGUN, *self.epochs(20, 20, 7), returned())

        assert told.verdict is None

    def test_an_epoch_without_a_plan_cannot_be_short(self):
        unplanned = facts.EpochEnded(
            wall_time=5.0, training=0, epoch=0, first_step=0, last_step=5
        )

        assert story(START, BEGUN, unplanned, returned()).verdict is None


class TestFailed:
    ERROR = ended(
        "exception",
        exception="ValueError",
        message="bad batch\nmore",
        file="train.py",
        line=41,
    )

    def test_an_exception_is_proven_and_has_its_place(self):
        told = story(START, BEGUN, STEP_7, self.ERROR)

        assert told.state == "failed"
        assert told.headline == "Stopped by ValueError at step 7"
        assert told.verdict.id == "code_error"
        assert told.verdict.confidence == "proven"
        assert told.verdict.place == {"file": "train.py", "line": 41}
        assert told.verdict.evidence[0].text == (
            "ValueError: bad batch (train.py, line 41)"
        )

    def test_before_the_training_began(self):
        told = story(START, self.ERROR)

        assert told.headline == "Stopped by ValueError before the training began"

    def test_right_after_the_training(self):
        told = story(START, BEGUN, returned(), self.ERROR)

        assert told.headline == (
            "The training finished at step 1,234, then ValueError stopped the program"
        )
        assert (told.state, told.severity) == ("finished", "warning")
        assert told.verdict.id == "code_error"

    def test_long_after_the_training_it_is_another_story(self):
        late = facts.RunEnded(
            wall_time=500.0, step=1_234, reason="exception", exception="ValueError"
        )

        told = story(START, BEGUN, returned(), late)

        assert (told.state, told.severity) == ("finished", "info")

    def test_ctrl_c_is_no_failure(self):
        told = story(START, BEGUN, STEP_7, ended("interrupted"))

        assert (told.state, told.severity) == ("ended_early", "info")
        assert told.headline == "Stopped by Ctrl-C at step 7"
        assert told.verdict.id == "user_interrupt"


class TestUnknown:
    def test_vanished_without_a_word(self):
        told = story(START, BEGUN, STEP_7)

        assert told.state == "died"
        assert told.headline == "Stopped at step 7; we cannot tell why"
        assert told.verdict.id == "unknown"
        assert told.verdict.confidence == "possible"
        assert told.verdict.evidence[0].text == "Process 1 is gone."

    def test_vanished_before_the_first_step(self):
        told = story(START, BEGUN)

        assert told.headline == (
            "Stopped before the first step was done; we cannot tell why"
        )

    def test_an_orderly_exit_in_the_middle_of_fit(self):
        told = story(START, BEGUN, STEP_7, ended("finished"))

        assert told.state == "ended_early"
        assert told.verdict.id == "explicit_exit"
        assert told.verdict.confidence == "possible"

    def test_a_program_that_never_trained(self):
        assert story(START, ended("finished")).chip == "No training"


class TestSummariesAlone:
    LOGGED = facts.Incident(wall_time=1.0, step=9, kind="x")

    def test_no_end_was_logged(self):
        told = story(self.LOGGED)

        assert (told.state, told.severity) == ("unknown", "info")
        assert told.headline == "Last heard of at step 9; its end was not recorded"

    def test_an_end_was_logged(self):
        assert story(self.LOGGED, ended("finished")).headline == "Finished at step 9"

    def test_a_reason_was_logged(self):
        told = story(self.LOGGED, ended("stopped", message="Budget is spent."))

        assert told.headline == "Ended at step 9: Budget is spent."


@pytest.mark.parametrize(
    "told",
    [
        story(START, BEGUN, STEP_7),
        story(START, BEGUN, STEP_7, TestFailed.ERROR),
        story(START, BEGUN, STEP_7, ended("finished")),
        story(START, BEGUN, STEP_7, ended("interrupted")),
    ],
)
def test_every_verdict_has_evidence_and_a_reason(told: Story):
    assert told.verdict.evidence
    assert told.verdict.because
    assert len(told.headline) <= 70
