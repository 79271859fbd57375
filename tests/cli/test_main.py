"""The `tb-health` command and its exit status."""

from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.events import facts

START = facts.RunStarted(wall_time=1.0, pid=1)
BEGUN = facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=1)
DONE = facts.TrainingEnded(wall_time=3.0, step=80, training=0, epochs_done=1)


def test_a_healthy_log_directory(logs: Path, write_attempt, capsys):
    write_attempt("run", told=[START, BEGUN, DONE])

    assert main(["list", str(logs)]) == HEALTHY
    assert capsys.readouterr().out == "run: Finished as planned at step 80\n"


def test_a_problem_is_the_exit_status(logs: Path, write_attempt, capsys):
    write_attempt("run", told=[START, BEGUN])

    assert main(["list", str(logs)]) == PROBLEM_FOUND
    assert "we cannot tell why" in capsys.readouterr().out


def test_an_empty_log_directory_says_so(logs: Path, capsys):
    assert main(["list", str(logs)]) == HEALTHY
    assert capsys.readouterr().out == f"No runs below {logs}\n"


def test_a_directory_that_is_none_is_one_clear_sentence(tmp_path: Path, capsys):
    assert main(["list", str(tmp_path / "none")]) == USAGE_ERROR
    assert capsys.readouterr().err.endswith("none is not a directory\n")


def test_no_command_is_a_usage_error():
    with pytest.raises(SystemExit) as stopped:
        main([])

    assert stopped.value.code == USAGE_ERROR
