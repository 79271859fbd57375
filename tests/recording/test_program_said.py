"""Warnings are kept, and come out as they would without us."""

import logging
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tb_health_plugin.recording import program_said
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.program_said import Ears
from tests.recording.fitting.fake_fit import FakeRecorder

LOGGERS = ("", "tensorflow", "absl", "keras")
ROOT = Path(__file__).parents[2]


class Progress:
    step = 7


class Recorder(FakeRecorder):
    progress = Progress()


@pytest.fixture
def recorder():
    for name in LOGGERS:
        logging.getLogger(name)
    made = Recorder()
    ears = Ears(made, Guard(made.fault))
    ears.begin()
    yield made
    ears.end()
    assert made.faults == []


def test_a_warning_of_python_is_kept_and_shown(recorder):
    before = warnings.showwarning.before
    shown = []
    warnings.showwarning.before = lambda *args: shown.append(args)
    warnings.showwarning(UserWarning("odd"), UserWarning, "train.py", 3)
    warnings.showwarning.before = before

    assert shown[0][1:4] == (UserWarning, "train.py", 3)
    (said,) = recorder.facts
    assert (said.logger, said.level) == ("warnings", "warning")
    assert (said.message, said.file, said.line) == ("UserWarning: odd", "train.py", 3)
    assert said.step == 7


@pytest.mark.parametrize("name", ["", "tensorflow", "absl"])
def test_loggers_are_heard(recorder, name: str):
    logging.getLogger(name).error("went %s", "wrong")
    logging.getLogger(name).info("all is well")

    (said,) = recorder.facts
    assert (said.logger, said.level) == (name or "root", "error")
    assert said.message == "went wrong"


def test_the_line_that_said_it_is_told(recorder):
    logging.warning("from here")  # noqa: LOG015 - as programs do

    assert recorder.facts[0].file == __file__


def test_our_own_logger_is_not(recorder):
    logging.getLogger("tb_health_plugin").warning("about ourselves")

    assert recorder.facts == []


def test_the_same_is_told_once_and_a_flood_ends(recorder):
    for number in range(2 * program_said.MOST_MESSAGES):
        logging.warning("number %d", number)  # noqa: LOG015 - as programs do
        logging.warning("always the same")  # noqa: LOG015

    assert len(recorder.facts) == program_said.MOST_MESSAGES


def test_a_long_one_is_cut(recorder):
    logging.warning("x" * 10_000)  # noqa: LOG015

    assert len(recorder.facts[0].message) == program_said.LONGEST_MESSAGE


def test_a_message_that_cannot_be_made_harms_nobody():
    made = Recorder()
    ears = Ears(made, Guard(made.fault))
    ears.begin()
    logger = logging.getLogger("absl")
    record = logger.makeRecord("absl", logging.ERROR, "f", 1, "%d", ("x",), None)

    assert logger.filter(record)

    ears.end()
    assert made.facts == []
    assert len(made.faults) == 1


def test_nothing_is_left():
    made = Recorder()
    before = warnings.showwarning, [list(logging.getLogger(n).filters) for n in LOGGERS]
    first, second = (Ears(made, Guard(made.fault)) for _ in range(2))
    first.begin()
    second.begin()
    first.end()
    assert warnings.showwarning is not before[0]
    second.end()

    filters = [list(logging.getLogger(n).filters) for n in LOGGERS]
    assert (warnings.showwarning, filters) == before


def test_a_logger_is_found_once_it_is_there(monkeypatch):
    monkeypatch.setattr(program_said, "_LOGGERS", ("made_later",))
    made = Recorder()
    ears = Ears(made, Guard(made.fault))
    ears.begin()
    # Never made by us: whose it is may give it a class of its own.
    assert "made_later" not in logging.root.manager.loggerDict
    logger = logging.getLogger("made_later")

    ears.listen_again()
    logger.warning("here I am")

    ears.end()
    assert made.facts[0].message == "here I am"
    assert logger.filters == []


def test_under_somebody_elses_it_passes_on(monkeypatch, capsys):
    made = Recorder()
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda *args: shown.append(args))
    ears = Ears(made, Guard(made.fault))
    ears.begin()
    ours = warnings.showwarning
    warnings.showwarning = lambda *args: ours(*args)
    theirs = warnings.showwarning

    ears.end()

    assert warnings.showwarning is theirs
    warnings.showwarning(UserWarning("odd"), UserWarning, "train.py", 3)
    assert len(shown) == 1
    assert made.facts == []


PROGRAM = """
import logging, sys, warnings
if sys.argv[1] == "recorded":
    from tb_health_plugin.recording.guard import Guard
    from tb_health_plugin.recording.program_said import Ears
    class Recorder:
        class progress: step = 0
        def record(self, fact): pass
    Ears(Recorder(), Guard(print)).begin()
logging.getLogger("absl").warning("absl, without a handler")
logging.getLogger("mine").warning("mine, without a handler")
warnings.warn("odd")
logging.basicConfig(format="formatted %(message)s")
logging.getLogger("mine").warning("mine")
logging.warning("root")
logging.captureWarnings(True)
warnings.warn("captured")
"""


def test_what_a_program_prints_is_the_same_to_the_byte():
    printed = {
        how: subprocess.run(
            [sys.executable, "-c", PROGRAM, how],
            capture_output=True,
            check=True,
            cwd=ROOT,
        )
        for how in ("recorded", "alone")
    }

    assert b"absl, without a handler" in printed["alone"].stderr
    assert b"formatted root" in printed["alone"].stderr
    assert printed["recorded"].stderr == printed["alone"].stderr
    assert printed["recorded"].stdout == printed["alone"].stdout == b""
