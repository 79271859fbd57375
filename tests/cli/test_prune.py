"""`tb-health prune` removes old recordings of ours, and nothing else."""

import os
import time
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, USAGE_ERROR, main
from tb_health_plugin.events import facts

START = facts.RunStarted(wall_time=1.0, pid=1)


@pytest.fixture
def old(logs: Path, write_attempt) -> Path:
    """A recording of 40 days ago, beside an event file of TensorBoard."""
    directory: Path = write_attempt("old", told=[START])
    long_ago = time.time() - 40 * 86_400
    for file in directory.iterdir():
        os.utime(file, (long_ago, long_ago))
    (logs / "old/events.out.tfevents.1.host").write_bytes(b"theirs")
    return directory


def test_old_ones_are_listed_and_kept(old: Path, logs: Path, write_attempt, capsys):
    write_attempt("new", told=[START])

    assert main(["prune", str(logs)]) == HEALTHY

    said = capsys.readouterr().out
    assert said.startswith("old: ")
    assert "40 days old" in said
    assert said.endswith("Remove them with --yes.\n")
    assert old.exists()


def test_with_yes_they_go_and_others_stay(old: Path, logs: Path, write_attempt, capsys):
    new = write_attempt("new", told=[START])

    assert main(["prune", str(logs), "--yes"]) == HEALTHY

    assert "Removed 1 recordings" in capsys.readouterr().out
    assert not old.exists()
    assert new.exists()
    assert (logs / "old/events.out.tfevents.1.host").read_bytes() == b"theirs"


def test_a_training_that_lives_is_left_alone(logs: Path, write_attempt, capsys):
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    me = facts.RunStarted(wall_time=1.0, pid=os.getpid(), boot_id=boot)
    directory = write_attempt("mine", told=[me])
    for file in directory.iterdir():
        os.utime(file, (1.0, 1.0))

    assert main(["prune", str(logs), "--yes"]) == HEALTHY

    assert "Nothing is older than 30 days" in capsys.readouterr().out
    assert directory.exists()


def test_everything_at_once_is_refused(logs: Path, capsys):
    assert main(["prune", str(logs), "--older-than", "0"]) == USAGE_ERROR
    assert "above 0" in capsys.readouterr().err
