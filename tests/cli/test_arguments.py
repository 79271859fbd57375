"""Which run is meant: by directory, or by its name."""

from pathlib import Path

import pytest

from tb_health_plugin.cli.compare import named
from tb_health_plugin.cli.main import PROBLEM_FOUND, USAGE_ERROR, main
from tests import runs


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "logs").mkdir()
    for name in ("crashed", "healthy"):
        (tmp_path / "logs" / name).symlink_to(runs.HERE / "healthy")
    (tmp_path / "logs/leak").symlink_to(runs.HERE / "memory_leak")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("given", ["leak", "logs/leak"])
def test_a_run_is_found_by_its_name_and_by_its_directory(given: str, capsys):
    assert main(["why", given]) == PROBLEM_FOUND
    assert "emory" in capsys.readouterr().out


def test_a_name_that_may_be_two_runs_is_asked_back(folder: Path, capsys):
    (folder / "old").mkdir()
    (folder / "old/leak").symlink_to(runs.HERE / "memory_leak")

    with pytest.raises(SystemExit) as stopped:
        main(["why", "leak"])

    assert stopped.value.code == USAGE_ERROR
    assert "'leak' may be logs/leak or old/leak: name one" in capsys.readouterr().err


def test_two_runs_are_named_by_directory_or_by_name(folder: Path):
    (folder / "elsewhere/other").mkdir(parents=True)
    logs = Path("logs")
    (folder / "logs/one").mkdir()
    (folder / "logs/two").mkdir()

    assert named(logs, "one", "two") == (logs, "one", "two")
    assert named(logs, "logs/one", None) == (logs, "one", None)
    assert named(logs / "one", "logs/two", None) == (folder / "logs", "one", "two")
    assert named(logs / "one", "elsewhere/other", None) == (
        folder,
        "logs/one",
        "elsewhere/other",
    )
