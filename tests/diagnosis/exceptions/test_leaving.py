"""Trainings that were left on purpose."""

import pytest

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import PYTHON, raised

EPOCHS = [
    facts.EpochEnded(wall_time=3.0 + n, step=400 * (n + 1), training=0, epoch=n)
    for n in range(3)
]


class TestExit:
    def test_in_a_callback_with_a_status_that_says_success(self):
        told = raised(
            "SystemExit",
            "0",
            before=EPOCHS,
            after=[
                facts.RunEnded(wall_time=9.5, step=1_234, reason="finished"),
                facts.ProcessEnded(wall_time=10.0, step=1_234, exit_code=0),
            ],
            during="callback",
            callback="Goal",
            file="/home/ana/train.py",
            line=33,
        )

        assert told.state == "ended_early"
        assert (told.verdict.id, told.verdict.detail) == ("explicit_exit", "status 0")
        assert told.severity == "warning"
        assert told.headline == (
            "sys.exit() in Goal (train.py:33) ended the program after 3 of 20 epochs"
        )
        assert "success" in told.verdict.because

    @pytest.mark.parametrize(
        ("message", "status"), [("", 0), ("None", 0), ("3", 3), ("no data", 1)]
    )
    def test_the_status(self, message: str, status: int):
        told = raised("SystemExit", message)

        assert told.verdict.detail == f"status {status}"

    def test_in_the_data_pipeline(self):
        told = raised(
            "UnknownError",
            PYTHON.format(error="SystemExit: 3"),
            before=EPOCHS,
            during="data",
        )

        assert told.state == "failed"
        assert (told.verdict.id, told.verdict.detail) == ("explicit_exit", "status 3")
        assert told.headline == (
            "sys.exit() (data.py:44) in the data pipeline ended the training after 3 "
            "of 20 epochs"
        )

    def test_another_error_in_the_data_pipeline_is_none(self):
        told = raised("UnknownError", PYTHON.format(error="KeyError: 3"), during="data")

        assert told.verdict.id == "input_error"

    def test_a_handler_that_was_asked_by_a_signal(self):
        end = facts.ProcessEnded(
            wall_time=10.0, step=1_234, exit_code=0, stacks="Current thread 0x1 (most"
        )

        told = raised("SystemExit", "0", after=[end])

        assert (told.verdict.id, told.verdict.detail) == ("preempted", "handled")


class TestInterrupt:
    def test_caught_and_handled_is_an_end_as_wanted(self):
        done = facts.RunEnded(wall_time=20.0, step=1_234, reason="finished")

        told = raised("KeyboardInterrupt", after=[done])

        assert (told.state, told.severity) == ("ended_early", "info")
        assert told.headline == "Stopped by Ctrl-C at step 1,234"
        assert told.verdict.id == "user_interrupt"

    def test_what_fails_right_after_is_told(self):
        failed = facts.RunEnded(
            wall_time=20.0,
            step=1_234,
            reason="exception",
            exception="PermissionError",
            message="[Errno 13] Permission denied: '/out'",
        )

        told = raised("KeyboardInterrupt", after=[failed])

        assert told.severity == "warning"
        assert told.headline == (
            "The training ended early at step 1,234, then PermissionError stopped the "
            "program"
        )

    def test_a_hang_that_was_broken_off_stays_the_cause(self):
        stall = facts.Stalled(
            wall_time=8.0, step=1_234, since=3.0, silent_seconds=5.0, waits_for="data"
        )

        told = raised("KeyboardInterrupt", before=[stall])

        assert told.verdict.id == "input_hang"


def test_a_loop_of_ones_own_is_left_with_break():
    again = facts.TrainingStarted(wall_time=2.5, training=0, loop="loop")

    told = raised("SystemExit", "3", before=[again])

    assert told.verdict.id == "explicit_exit"
    assert told.verdict.fixes[0].code == "break"
