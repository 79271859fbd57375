"""A machine that went away under a run, and one that was only started later."""

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt


def story(restarted_after: float | None, *more: facts.Fact) -> Story:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
    attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
    attempt.add(facts.EpochEnded(wall_time=3.0, step=9_870, epoch=0))
    for fact in more:
        attempt.add(fact)
    life = Life(alive=False, because="gone", restarted_after_seconds=restarted_after)
    return tell(attempt, life)


def test_started_again_right_after_is_the_machine():
    told = story(40.0)

    assert told.verdict.id == "machine_lost"
    assert told.verdict.confidence == "likely"
    assert told.headline == (
        "The machine went away at step 9,870: it was started again"
    )
    assert "40 s after the last sample" in told.verdict.evidence[0].text


def test_started_again_days_later_explains_nothing():
    assert story(90_000.0).verdict.id == "unknown"


def test_not_started_again_stays_unknown():
    assert story(None).verdict.id == "unknown"


def test_an_end_that_the_watcher_saw_is_not_the_machine():
    seen = facts.ProcessEnded(wall_time=4.0, signal=15)

    assert story(40.0, seen).verdict.id == "preempted"
