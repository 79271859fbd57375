"""The README's figures are those of the stored measurement, and of nothing else."""

import dataclasses
import json
from pathlib import Path

import pytest

from bench import stored
from bench.cost import Cost
from bench.measuring import Result
from bench.report import Machine, Report
from tests.docs.pages import ROOT

WATCHER = {
    "running after, s": 0.2,
    "memory of its own (USS), MiB": 13.6,
    "share of one core at 1 Hz, %": 0.62,
    "a SIGKILL is on disk after, s": 0.31,
}
MACHINE = Machine("CPU", 2, 8.0, "Linux 6.1", "3.12.1", {"tensorflow": "2.21"}, 0.1)


def measured(*steps: float) -> list[dict[str, float]]:
    return [
        {"round": number, "wall": s, "cpu": s, "start": s, "peak": 100 * s}
        for number, s in enumerate(steps)
    ]


@pytest.fixture
def report() -> Report:
    fit = {"bare": measured(1, 2, 1), "HealthCallback": measured(1.1, 2.1, 1.2)}
    loop = {"bare": measured(1, 1), "watch": measured(1.5, 1.5)}
    tables = [
        ("watcher_cost", Result("The watcher", "measured once", WATCHER, {})),
        ("hook_cost", Cost("fit, steps of 1 ms", fit, {"wandb": "not installed"})),
        ("hook_cost", Cost("own loop", loop, {})),
    ]
    return Report(MACHINE, "2026-11-18", 3, False, tables)


def test_the_readme_says_what_was_measured():
    page = (ROOT / "README.md").read_text()

    assert page == stored.with_figures(page, stored.stored()), "run: make bench-store"


def test_figures_come_from_the_measurement(report: Report):
    said = stored.figures(report.as_json())

    row = "| fit, steps of 1 ms | 1 ms | × 1.100 (1.050 to 1.200) | × 1.100"
    assert row in said
    assert "starts up to 0.5 s later and takes 50 MiB more" in said
    assert (
        "takes 14 MiB and 0.6 % of one core; a SIGKILL is on disk after 0.31 s" in said
    )
    assert "3 rounds on 2 cores (CPU, TensorFlow 2.21), 2026-11-18" in said


def test_a_machine_that_was_busy_is_told_as_such(report: Report):
    busy = dataclasses.replace(
        report, machine=dataclasses.replace(MACHINE, load_before=3.0)
    )

    assert "2026-11-18, while other programs ran." in stored.figures(busy.as_json())
    assert "while other programs" not in stored.figures(report.as_json())


def test_a_measurement_is_compared_with_bare_of_its_own_round():
    seen = {"bare": measured(1, 5, 2), "other": measured(2, 0, 4)}
    del seen["other"][1]

    told = Cost("fit", seen, {}).as_json()

    ratio = told["variants"]["other"]["wall_ratio"]
    assert ratio == {"median": 2, "min": 2, "max": 2}


def test_a_measurement_is_stored_and_told_by_one_command(
    report: Report, tmp_path: Path, monkeypatch
):
    readme = tmp_path / "README.md"
    readme.write_text(f"Cost\n{stored.BEGIN}\nold\n{stored.END}\nmore\n")
    monkeypatch.setattr(stored, "HERE", tmp_path)
    monkeypatch.setattr(stored, "README", readme)
    monkeypatch.setattr(stored, "STORED", tmp_path / "results.json")
    monkeypatch.setattr(stored, "MADE", tmp_path / "out")

    assert stored.main() == 2
    report.write(tmp_path / "out")
    assert stored.main() == 0

    said = stored.figures(json.loads((tmp_path / "results.json").read_text()))
    assert readme.read_text() == (f"Cost\n{stored.BEGIN}\n{said}\n{stored.END}\nmore\n")
    assert "### The watcher" in (tmp_path / "results.md").read_text()


def test_what_was_measured_earlier_that_day_is_kept(report: Report, tmp_path: Path):
    report.write(tmp_path)
    again = Report(MACHINE, report.date, report.rounds, False)
    busier = dataclasses.replace(MACHINE, load_before=2.0)
    newer = Cost("own loop", {"bare": measured(2, 2), "watch": measured(2, 2)}, {})

    again.keep_earlier(tmp_path)
    again.add("hook_cost", newer)

    before, now = report.as_json()["results"], again.as_json()["results"]
    assert now[:2] == before[:2]
    assert now[2] == {"asked_by": "hook_cost", **newer.as_json(), "text": str(newer)}
    for other, kept in (
        (Report(busier, report.date, report.rounds, False), 3),
        (Report(MACHINE, "2026-11-19", report.rounds, False), 0),
        (Report(MACHINE, report.date, 7, False), 0),
    ):
        other.keep_earlier(tmp_path)
        assert len(other.tables) == kept


def test_a_new_table_comes_after_the_others(report: Report):
    report.add("watcher_cost", Result("Another", "measured once", {}, {}))

    assert [asked_by for asked_by, _ in report.tables][-1] == "watcher_cost"
    assert len(report.tables) == 4
