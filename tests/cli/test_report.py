"""`tb-health report`: many runs as a table, as data, and one run for an issue."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import tb_health_plugin
from tb_health_plugin.cli import engines
from tb_health_plugin.cli.engines import on_all_cores, on_ray
from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.cli.many_runs import Judged, judge_all
from tb_health_plugin.cli.overview import overview, repeated
from tb_health_plugin.diagnosing import diagnose
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY
from tb_health_plugin.reading.log_directory import Root
from tests import runs
from tests.workers import recorded

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


def test_causes_and_what_fails_again_as_rows(several: Path, tmp_path: Path):
    for ending in (".csv", ".jsonl"):
        file = tmp_path / f"causes{ending}"
        given = ["report", str(several), "--causes", "-o", str(file)]
        assert main(given) == PROBLEM_FOUND

    rows = list(csv.DictReader((tmp_path / "causes.csv").read_text().splitlines()))
    first, last = rows[0], rows[-1]
    assert (first["by"], first["name"], first["runs"]) == ("cause", "input_bound", "2")
    assert float(first["lost_hours"]) > 0
    assert (last["by"], last["name"]) == ("program", "train.py")
    lines = (tmp_path / "causes.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == [r["name"] for r in rows]


def test_causes_are_refused_without_a_file_for_them(several: Path, capsys):
    assert main(["report", str(several), "--causes"]) == USAGE_ERROR
    assert "--causes needs -o with a file that ends in" in capsys.readouterr().err


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
    alone = judge_all([Root(several)])
    monkeypatch.setattr(engines, "WORTH_PROCESSES", 2)
    monkeypatch.setattr(engines, "cores", lambda: 2)
    ticks: list[tuple[int, int]] = []

    together = judge_all([Root(several)], lambda done, of: ticks.append((done, of)))

    assert together == alone
    assert ticks == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_hours_of_healthy_runs_are_not_lost(several: Path):
    whole = overview(judge_all([Root(several)]))

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


@pytest.mark.live
def test_on_ray_the_runs_are_told_as_here(several: Path, apart: Path, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is an extra that is not installed")
    monkeypatch.setattr(engines, "RAY_AT_ONCE", 2)
    roots = [Root(several), Root(apart)]

    told = judge_all(roots, engine=on_ray)

    assert told == judge_all(roots, engine=on_all_cores)
    assert not ray.is_initialized()


def test_without_ray_it_says_what_to_install(several: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)

    assert main(["report", str(several), "--ray"]) == USAGE_ERROR
    assert "pip install 'tensorboard-plugin-health[ray]'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workers of one training that wrote to different places, and another run."""
    logs = tmp_path_factory.mktemp("apart")
    team = recorded.HERE / "killed" / HEALTH_DIRECTORY
    for number in (0, 1):
        place = logs / f"team/w{number}" / HEALTH_DIRECTORY
        shutil.copytree(team / f"recorded{number}", place / f"recorded{number}")
    shutil.copytree(runs.HERE / "healthy", logs / "healthy")
    return logs


def test_workers_that_write_apart_are_one_run(apart: Path):
    healthy, team = judge_all([Root(apart)])

    assert healthy.answer["run"] == "healthy"
    verdict = team.answer["verdict"]
    assert team.answer["run"] == "team/w0"
    assert (verdict["id"], verdict["place"]["worker"]) == ("killed_outside", "worker 1")
    parts = [row["part"] for row in team.answer["workers"]["table"]]
    assert parts == ["consequence", "root"]


def test_the_same_is_said_of_them_one_by_one_and_together(apart: Path):
    _, team = judge_all([Root(apart)])

    assert diagnose(apart, "team/w0")["verdict"] == team.answer["verdict"]


def test_workers_may_write_to_several_log_directories(apart: Path):
    roots = [Root(apart / "team/w0"), Root(apart / "team/w1")]

    (team,) = judge_all(roots)

    assert team.logdir == str(apart / "team/w0")
    assert team.answer["verdict"]["place"]["worker"] == "worker 1"


class TestRepeated:
    def test_a_host_that_has_more_of_a_cause_than_others(self):
        good = [judged(host=f"node{n}") for n in range(6)]
        bad = [judged("gpu_fault", host="node3") for _ in range(3)]

        assert again([*good, *bad], "host") == [("node3", "gpu_fault", 3)]

    def test_a_host_on_which_everything_runs_is_no_offender(self):
        fleet = [judged(host="laptop"), *(judged("nan_op", host="laptop"),) * 3]

        assert again(fleet, "host") == []

    def test_a_dataset(self):
        good = [judged(dataset="arrays, 50000 rows")] * 3
        bad = [judged("bad_input_values", dataset="tf.data, 90 batches")] * 3

        assert again([*good, *bad], "dataset") == [
            ("tf.data, 90 batches", "bad_input_values", 3)
        ]

    def test_a_line_of_code_of_several_programs(self):
        place = {"file": "layers.py", "line": 7}
        bad = [judged("nan_op", program=p, place=place) for p in ("a.py", "b.py")]

        assert again(bad, "line") == [("layers.py:7", "nan_op", 2)]
        assert again(bad, "program") == []

    def test_healthy_runs_are_nobody_s_offence(self):
        assert repeated([judged(program="train.py", host="a")] * 5) == []


def again(fleet: list[Judged], by: str) -> list[tuple[str, str, int]]:
    return [(r["name"], r["id"], r["runs"]) for r in repeated(fleet) if r["by"] == by]


def judged(cause: str = "healthy", place: dict | None = None, **known: str) -> Judged:
    severity = "info" if cause == "healthy" else "critical"
    verdict = {"id": cause, "severity": severity, "place": place or {}}
    return Judged(
        logdir="logs",
        answer={"verdict": verdict},
        program=known.get("program"),
        host=known.get("host"),
        dataset=known.get("dataset"),
        hours=1.0,
        settings={},
    )


# In the form of a real one, joined so that no scanner takes this file for a leak.
SECRETS = ("ghp_" + "x8Kq2mN7vB4cZ1aS6dF9gH3jL5pO0iU8yT2r", "hunter2", "8f14e45fceea")
LEAKY = f"""
import logging, sys, warnings
logging.error("clone with {SECRETS[0]} failed")
sys.stderr.write("password='{SECRETS[1]}' was wrong\\n")
raise RuntimeError("s3://me:{SECRETS[1]}@host refused")
"""


def test_no_secret_of_the_program_reaches_a_report(tmp_path: Path):
    (tmp_path / "leaky.py").write_text(LEAKY)
    command = ["run", "--logdir", "logs/leaky", "leaky.py", "--auth-token", SECRETS[2]]
    subprocess.run(
        [sys.executable, "-m", "tb_health_plugin", *command],
        cwd=tmp_path,
        check=False,
        stderr=subprocess.DEVNULL,
    )

    for ending in (".md", ".html", ".json", ".jsonl"):
        file = tmp_path / f"report{ending}"
        assert main(["report", str(tmp_path / "logs"), "-o", str(file)]) == (
            PROBLEM_FOUND
        )
        page = file.read_text()
        # The words around a secret are there, so that it would be seen.
        assert "@host refused" in page
        assert [secret for secret in SECRETS if secret in page] == []
