"""Who stopped a training, in words; and trainings that raised before others."""

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 1 is gone.")


def begun(
    training: int = 0, planned: int = 20, first: int = 0
) -> facts.TrainingStarted:
    return facts.TrainingStarted(
        wall_time=2.0 + 10 * training,
        training=training,
        initial_epoch=first,
        planned_epochs=planned,
    )


def ended(
    training: int = 0, epochs: int = 3, reason: str = "returned", **more
) -> facts.TrainingEnded:
    return facts.TrainingEnded(
        wall_time=9.0 + 10 * training,
        step=1_234,
        last_step=1_234,
        training=training,
        epochs_done=epochs,
        reason=reason,
        **more,
    )


def stop(callback: str | None, **more) -> facts.StopRequested:
    return facts.StopRequested(
        wall_time=8.0, step=1_234, training=0, epoch=2, callback=callback, **more
    )


def story(*told: facts.Fact) -> Story:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
    for fact in told:
        attempt.add(fact)
    return tell(attempt, GONE)


@pytest.mark.parametrize(
    ("request_", "chip", "headline"),
    [
        (
            stop("EarlyStopping", is_keras=True),
            "Early stopping",
            "Stopped by EarlyStopping at step 1,234, as configured",
        ),
        (
            stop("Goal", is_keras=False, file="/home/ana/train.py", line=33),
            "Stopped early",
            "Stopped by Goal (train.py:33) after 3 of 20 epochs",
        ),
        (
            stop(None, file="/home/ana/train.py", line=33),
            "Stopped early",
            "Stopped by train.py:33 after 3 of 20 epochs",
        ),
        (
            stop(None),
            "Stopped early",
            "Stopped by the program after 3 of 20 epochs",
        ),
    ],
)
def test_who_stopped_it(request_: facts.StopRequested, chip: str, headline: str):
    told = story(begun(), request_, ended())

    assert (told.state, told.severity, told.verdict) == ("ended_early", "info", None)
    assert (told.chip, told.headline) == (chip, headline)


def test_a_stop_in_the_last_epoch_is_a_finish():
    told = story(begun(planned=3), stop("Goal"), ended())

    assert told.headline == "Finished as planned at step 1,234"


def test_terminate_on_nan_is_never_healthy():
    told = story(begun(), stop("TerminateOnNaN", is_keras=True), ended())

    assert (told.severity, told.verdict.id) == ("critical", "nan_op")
    assert told.verdict.confidence == "possible"


def test_where_a_nan_began_is_for_others_to_say():
    bad = facts.FirstBadNumber(wall_time=7.0, training=0, bad_step=900)

    told = story(begun(), bad, stop("TerminateOnNaN", is_keras=True), ended())

    assert (told.severity, told.verdict) == ("critical", None)


def test_a_stop_that_was_followed_by_the_rest():
    told = story(
        begun(planned=6),
        stop("Polite"),
        ended(),
        begun(1, planned=6, first=3),
        ended(1),
    )

    assert (told.state, told.verdict) == ("finished", None)


class TestRaisedBefore:
    OOM = ended(reason="raised", exception="MemoryError")

    def test_the_program_caught_it_and_ended(self):
        done = facts.RunEnded(wall_time=20.0, step=1_234, reason="finished")

        told = story(begun(), self.OOM, done)

        assert (told.state, told.verdict.id) == ("failed", "alloc_failure")

    def test_the_same_was_done_again_and_worked(self):
        told = story(begun(), self.OOM, begun(1), ended(1, epochs=20))

        assert (told.state, told.severity) == ("finished", "info")
        assert (told.verdict.id, told.verdict.severity) == ("alloc_failure", "info")

    def test_more_than_that_was_done_after(self):
        told = story(begun(planned=2), self.OOM, begun(1), ended(1, epochs=20))

        assert (told.state, told.severity) == ("finished", "info")
        assert told.verdict.severity == "info"

    def test_where_it_struck_is_told_of_its_own_training(self):
        at_once = facts.TrainingEnded(
            wall_time=3.0,
            training=0,
            last_step=0,
            reason="raised",
            exception="ValueError",
        )

        told = story(begun(), at_once, begun(1), ended(1, epochs=20))

        assert "before the first step was done" in told.verdict.headline

    def test_something_else_was_done_after(self):
        told = story(begun(), self.OOM, begun(1, planned=5), ended(1, epochs=5))

        assert (told.state, told.severity) == ("finished", "warning")
        assert told.verdict.id == "alloc_failure"

    def test_an_interrupt_before_is_nothing(self):
        left = ended(reason="raised", exception="KeyboardInterrupt")

        told = story(begun(), left, begun(1, planned=5), ended(1, epochs=5))

        assert told.verdict is None


def test_too_few_steps_are_said_to_be_so():
    told = story(
        begun(planned=2),
        facts.TrainingEnded(
            wall_time=9.0, step=8, training=0, epochs_done=2, reason="returned"
        ),
    )

    assert told.headline == "Finished as planned at step 8; too short to judge"


def test_a_model_that_could_not_be_saved_in_the_end_is_lost():
    failed = facts.RunEnded(
        wall_time=12.0,
        step=1_234,
        reason="exception",
        exception="OSError",
        message="[Errno 28] No space left on device: '/out/a.keras'",
    )
    saved = facts.Saved(wall_time=5.0, step=600, path="/out/b.keras", ok=True)

    lost = story(begun(planned=3), ended(), failed)
    kept = story(begun(planned=3), saved, ended(), failed)

    assert (lost.verdict.id, lost.severity) == ("disk_full", "critical")
    assert (kept.verdict.id, kept.severity) == ("disk_full", "warning")
