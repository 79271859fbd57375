"""The `tb-health` command and its exit status."""

import json
import subprocess
import sys
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


def test_a_run_without_health_data_is_listed_too(logs: Path, capsys):
    (logs / "plain").mkdir()
    (logs / "plain/events.out.tfevents.1.host").touch()

    assert main(["list", str(logs)]) == HEALTHY
    assert capsys.readouterr().out == "plain: Not monitored; no scalars\n"


def test_rows_for_programs(logs: Path, write_attempt, capsys):
    write_attempt("run", told=[START, BEGUN, DONE])

    assert main(["list", str(logs), "--json"]) == HEALTHY
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["state"], row["step"]) == ("run", "finished", 80)


def test_whoever_reads_us_may_go(logs: Path, write_attempt):
    write_attempt("run", told=[START, BEGUN, DONE])
    command = f"{sys.executable} -m tb_health_plugin {{}} {logs} | true"

    for name in ("list", "why"):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.format(name)],
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""


def test_no_command_is_a_usage_error():
    with pytest.raises(SystemExit) as stopped:
        main([])

    assert stopped.value.code == USAGE_ERROR
