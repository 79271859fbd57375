"""When a finding could first have been known."""

from tb_health_plugin.diagnosis.replay import replay
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 1 is gone.")


def test_a_stall_was_known_long_before_somebody_killed_it():
    attempt = Attempt("a")
    for fact in (
        facts.RunStarted(wall_time=1.0, pid=1),
        facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3),
        facts.Stalled(
            wall_time=100.0,
            step=40,
            since=60.0,
            silent_seconds=40.0,
            usual_seconds=0.1,
            waits_for="data",
            because="The training thread waits for the next batch.",
        ),
        facts.ProcessEnded(wall_time=1_000.0, step=40, signal=9, seen_by="pidfd"),
    ):
        attempt.add(fact)

    (known,) = replay(attempt, GONE)

    assert known.finding.id == "input_hang"
    assert known.seconds_before_end == 900.0
    assert known.at.step == 40


def test_an_end_is_known_when_it_comes():
    attempt = Attempt("a")
    for fact in (
        facts.RunStarted(wall_time=1.0, pid=1),
        facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3),
        facts.RunEnded(
            wall_time=9.0, step=5, reason="exception", training_under_way=True
        ),
    ):
        attempt.add(fact)

    (known,) = replay(attempt, GONE)

    assert known.seconds_before_end == 0.0


def test_an_empty_record_has_nothing_to_replay():
    assert replay(Attempt("a"), GONE) == []
