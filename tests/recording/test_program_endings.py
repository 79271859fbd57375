"""What is recorded of the end of real programs, and what is seen from outside."""

import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt

pytest.importorskip("keras")
pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/recording/ending_program.py"


def run(logdir: Path, ending: str) -> tuple[Attempt, int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.recording.ending_program", str(logdir), ending],
        capture_output=True,
        cwd=ROOT,
        check=False,
        text=True,
    )
    (directory,) = (logdir / "plugins/health").iterdir()
    reader = AttemptReader(directory)
    reader.refresh()
    return reader.attempt, done.returncode, done.stderr


@pytest.mark.parametrize(
    ("ending", "code"), [("exit", 7), ("exit_0", 0), ("exit_text", 1)]
)
def test_an_exit_within_a_training(tmp_path: Path, ending: str, code: int):
    attempt, returned, errors = run(tmp_path, ending)

    assert returned == code
    assert ("enough" in errors) == (ending == "exit_text")
    ended = attempt.last(facts.TrainingEnded)
    assert (ended.reason, ended.exception, ended.last_step) == (
        "raised",
        "SystemExit",
        6,
    )
    last = attempt.last(facts.RunEnded)
    assert (last.reason, last.exit_code) == ("exit", code)
    assert (last.during, last.callback) == ("callback", "Ends")
    assert (last.file, last.function) == (str(PROGRAM), "on_train_batch_end")
    assert last.training_under_way


def test_an_exit_that_the_program_catches(tmp_path: Path):
    attempt, returned, _ = run(tmp_path, "caught_exit")

    assert returned == 0
    assert attempt.last(facts.TrainingEnded).exception == "SystemExit"
    last = attempt.last(facts.RunEnded)
    assert (last.reason, last.during) == ("finished", None)
    assert not last.training_under_way


def test_an_exit_after_the_training(tmp_path: Path):
    attempt, returned, errors = run(tmp_path, "exit_text_after")

    assert (returned, "enough" in errors) == (1, True)
    assert attempt.last(facts.TrainingEnded).reason == "returned"
    last = attempt.last(facts.RunEnded)
    assert (last.reason, last.during) == ("finished", None)


@pytest.mark.parametrize(
    ("ending", "reason", "error"),
    [
        ("exception", "exception", "ValueError"),
        ("interrupt", "interrupted", "KeyboardInterrupt"),
    ],
)
def test_an_exception(tmp_path: Path, ending: str, reason: str, error: str):
    attempt, returned, errors = run(tmp_path, ending)

    assert returned != 0
    assert error in errors
    # Nobody shall look for the fault in our files.
    assert "tb_health_plugin" not in errors
    last = attempt.last(facts.RunEnded)
    assert (last.reason, last.exception) == (reason, error)
    assert (last.during, last.callback) == ("callback", "Ends")
    assert last.training_under_way


def test_data_that_fails_is_told_with_its_own_line(tmp_path: Path):
    attempt, _, _ = run(tmp_path, "data")

    for kind in (facts.TrainingEnded, facts.RunEnded):
        fact = attempt.last(kind)
        assert (fact.during, fact.last_step) == ("data", 12)
        assert (fact.file, fact.function) == (str(PROGRAM), "batches")
        assert "disk gone" in fact.message
