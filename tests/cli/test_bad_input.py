"""Whatever one points tb-health at: one clear sentence, status 2, no traceback."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.events import codec, facts, tags
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tests import runs

RECORDS = str(FileName("records", 0))
COMMANDS = ("why", "list", "show", "watch", "compare", "replay", "report", "prune")
# What must follow the directory.
MORE = {"compare": ["run"]}
NEED_A_RECORD = ("why", "show", "watch", "replay", "report")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_health_plugin.cli.watch.BEGINS_WITHIN_SECONDS", 0.0)


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command says when it can do nothing with a directory."""

    def said(*arguments: object) -> str:
        more = MORE.get(str(arguments[0]), [])
        assert main([*map(str, arguments), *more]) == USAGE_ERROR
        printed = capsys.readouterr()
        assert printed.out == ""
        (line,) = printed.err.splitlines()
        assert line.startswith("tb-health: ")
        return line.removeprefix("tb-health: ")

    return said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_is_missing(command: str, complaint, tmp_path: Path):
    assert complaint(command, tmp_path / "no") == f"{tmp_path / 'no'} does not exist"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_in_place_of_a_directory(command: str, complaint, tmp_path: Path):
    file = tmp_path / "train.py"
    file.touch()

    assert complaint(command, file) == f"{file} is a file, not a log directory"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_that_leads_nowhere(command: str, complaint, tmp_path: Path):
    link = tmp_path / "logs"
    link.symlink_to("gone")

    assert complaint(command, link) == (
        f"{link} is a link to gone, which does not exist"
    )


@pytest.mark.parametrize("command", ["list", "compare", *NEED_A_RECORD])
def test_a_directory_without_runs(command: str, complaint, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing of ours")

    assert complaint(command, tmp_path) == (
        f"No runs below {tmp_path}: it holds neither health data nor event files"
    )


@pytest.mark.parametrize("command", ["list", "compare", *NEED_A_RECORD])
def test_files_of_another_plugin_alone(command: str, complaint, tmp_path: Path):
    (tmp_path / "run/plugins/profile/now").mkdir(parents=True)

    assert complaint(command, tmp_path) == (
        f"No runs below {tmp_path}, only data of other plugins: profile"
    )


@pytest.mark.parametrize("command", NEED_A_RECORD)
def test_a_file_of_no_bytes(command: str, complaint, tmp_path: Path):
    directory = tmp_path / "run" / HEALTH_DIRECTORY / "a1"
    directory.mkdir(parents=True)
    (directory / RECORDS).touch()

    assert complaint(command, tmp_path).startswith("The record of run 'run' is empty")


@pytest.mark.parametrize("command", NEED_A_RECORD)
def test_a_newer_format(command: str, complaint, tmp_path: Path, monkeypatch):
    directory = tmp_path / "run" / HEALTH_DIRECTORY / "a1"
    directory.mkdir(parents=True)
    with monkeypatch.context() as later:
        later.setattr(codec, "FORMAT_VERSION", tags.FORMAT_VERSION + 1, raising=False)
        later.setattr(tags, "FORMAT_VERSION", tags.FORMAT_VERSION + 1)
        file = EventFile(directory / RECORDS, now=1.0)
        file.append_fact(facts.RunStarted(wall_time=1.0, pid=1))
        file.close()

    assert "newer version of Training Health" in complaint(command, tmp_path)


def test_a_run_that_is_not_there_names_those_that_are(complaint):
    said = complaint("why", runs.HERE, "--run", "nan_opp")

    assert said.startswith("No run called 'nan_opp' with health data below")
    assert "there are bad_init, " in said


def test_a_file_that_shrinks_while_it_is_followed(
    write_attempt, logs: Path, capsys, monkeypatch
):
    start = facts.RunStarted(wall_time=1.0, pid=1)
    begun = facts.TrainingStarted(wall_time=2.0, training=0)
    records = write_attempt(told=[start, begun]) / RECORDS
    monkeypatch.setattr("tb_health_plugin.cli.watch._LIVING", ("running", "died"))
    monkeypatch.setattr(
        "tb_health_plugin.cli.watch.time.sleep",
        lambda _: os.truncate(records, 10),
    )

    assert main(["watch", str(logs)]) == USAGE_ERROR
    assert capsys.readouterr().err.endswith(
        f"{RECORDS} became shorter while it was read: somebody cut or replaced it\n"
    )


def test_a_record_that_was_cut_is_told_as_far_as_it_goes(
    write_attempt, logs: Path, capsys
):
    start = facts.RunStarted(wall_time=1.0, pid=1)
    begun = facts.TrainingStarted(wall_time=2.0, training=0)
    records = write_attempt(told=[start, begun]) / RECORDS
    os.truncate(records, records.stat().st_size - 3)

    assert main(["why", str(logs)]) in (HEALTHY, PROBLEM_FOUND)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try it as somebody else")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_may_not_be_read(command: str, tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o011)
    program = (
        "import os, sys; from tb_health_plugin.cli.main import main; "
        "os.setuid(65534); sys.exit(main(sys.argv[1:]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, command, str(closed), *MORE.get(command, [])],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == USAGE_ERROR
    assert done.stderr == f"tb-health: {closed} cannot be read: permission denied\n"
