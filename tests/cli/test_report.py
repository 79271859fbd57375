"""`tb-health report`: many runs as a table, as data, and one run for an issue."""

import csv
import json
import shutil
from pathlib import Path

import jsonschema
import pytest

import tb_health_plugin
from tb_health_plugin.cli import many_runs
from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.cli.many_runs import judge_all
from tb_health_plugin.cli.overview import overview
from tb_health_plugin.events import facts
from tests import runs

SCHEMA = json.loads(
    (
        Path(tb_health_plugin.__file__).parent / "diagnosis/verdict.schema.json"
    ).read_text()
)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four recorded runs, two of which ended in the same way."""
    logs = tmp_path_factory.mktemp("logs")
    for name in ("healthy", "input_bound", "input_bound-2", "native_crash"):
        shutil.copytree(runs.HERE / name, logs / name)
    return logs


def write(logs: Path, tmp_path: Path, ending: str) -> str:
    file = tmp_path / f"report{ending}"
    assert main(["report", str(logs), "-o", str(file)]) == PROBLEM_FOUND
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    return file.read_text()


def test_a_table_of_causes(several: Path, capsys):
    assert main(["report", str(several)]) == PROBLEM_FOUND

    first, _, *rows, _, again, repeated = capsys.readouterr().out.splitlines()
    assert first.startswith("4 runs, 3 with a problem, ")
    causes = [row.split()[0] for row in rows[1:]]
    assert causes == ["input_bound", "native_crash", "healthy"]
    assert again == "Again and again"
    assert repeated.split()[:5] == ["train.py:", "input_bound", "in", "2", "runs,"]


def test_json_is_an_overview_and_the_answers(several: Path, tmp_path: Path):
    report = json.loads(write(several, tmp_path, ".json"))

    assert report["overview"]["runs"] == 4
    for run in report["runs"]:
        jsonschema.validate(run, SCHEMA)


def test_json_lines_hold_a_run_each(several: Path, tmp_path: Path):
    lines = write(several, tmp_path, ".jsonl").splitlines()

    names = [json.loads(line)["run"] for line in lines]
    assert names == ["healthy", "input_bound", "input_bound-2", "native_crash"]


def test_csv_has_a_row_per_run(several: Path, tmp_path: Path):
    rows = list(csv.DictReader(write(several, tmp_path, ".csv").splitlines()))

    assert rows[3]["verdict"] == "native_crash"
    assert float(rows[3]["lost_hours"]) == float(rows[3]["hours"])
    assert float(rows[0]["lost_hours"]) == 0.0


def test_one_run_as_markdown_for_an_issue(tmp_path: Path):
    page = write(runs.HERE / "native_crash", tmp_path, ".md")

    assert page.startswith("# ")
    assert "`native_crash`, proven." in page
    for title in ("## How we know", "## What to do", "## Where"):
        assert f"\n{title}\n" in page
    assert "| tensorflow | 2." in page


def test_words_of_others_stay_words_in_markdown(logs: Path, write_attempt, tmp_path):
    start = facts.RunStarted(wall_time=1.0, pid=1, settings={"a|b": "<img src=x>"})
    end = facts.RunEnded(
        wall_time=3.0, step=8, reason="exception", exception="E", message="[x](y) `z`"
    )
    write_attempt(told=[start, end])

    file = tmp_path / "page.md"
    assert main(["report", str(logs), "-o", str(file)]) == PROBLEM_FOUND

    page = file.read_text()
    assert "\\<img src=x\\>" in page
    assert "[x](y)" not in page


def test_only_the_runs_that_are_named(several: Path, tmp_path: Path):
    file = tmp_path / "one.csv"
    named = ["--run", "healthy", "-o", str(file)]

    assert main(["report", str(several), *named]) == HEALTHY
    assert len(file.read_text().splitlines()) == 2


def test_another_ending_is_refused_before_anything_is_read(tmp_path: Path, capsys):
    assert main(["report", str(tmp_path), "-o", "report.pdf"]) == USAGE_ERROR
    assert "report.pdf must end in one of" in capsys.readouterr().err


def test_a_file_that_cannot_be_written(several: Path, tmp_path: Path, capsys):
    file = tmp_path / "none/report.md"

    assert main(["report", str(several), "-o", str(file)]) == USAGE_ERROR
    assert "report.md cannot be written: No such file" in capsys.readouterr().err


def test_many_runs_on_all_cores_are_told_as_one_by_one(several: Path, monkeypatch):
    alone = judge_all([several])
    monkeypatch.setattr(many_runs, "WORTH_PROCESSES", 2)
    monkeypatch.setattr(many_runs.os, "cpu_count", lambda: 2)
    ticks: list[tuple[int, int]] = []

    together = judge_all([several], lambda done, of: ticks.append((done, of)))

    assert together == alone
    assert ticks == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_hours_of_healthy_runs_are_not_lost(several: Path):
    whole = overview(judge_all([several]))

    assert whole["causes"][-1] == {
        "id": "healthy",
        "severity": "info",
        "runs": 1,
        "lost_hours": 0.0,
    }
    assert whole["lost_hours"] == pytest.approx(
        sum(cause["lost_hours"] for cause in whole["causes"])
    )


def test_a_page_begins_with_the_run_that_has_a_problem(several: Path, tmp_path: Path):
    page = write(several, tmp_path, ".html")

    assert "<!doctype html>" in page[:200].lower()
    assert '"runs": ["input_bound", ' in page or '"runs":["input_bound",' in page


def test_a_page_has_no_room_for_everything(tmp_path: Path, capsys):
    file = str(tmp_path / "report.html")

    assert main(["report", str(runs.HERE), "-o", file]) == USAGE_ERROR
    assert "choose some with --run" in capsys.readouterr().err
