"""Real workers that train together: the right one is named, with the right cause.

`python -m tests.workers --repeats 10` plays all scenarios, again and again.
"""

from pathlib import Path

import pytest

from tests.workers.scenarios import play, right

pytestmark = pytest.mark.live


def test_all_healthy(tmp_path: Path):
    answer = play("healthy", tmp_path / "logs")

    assert right("healthy", answer), answer["headline"]
    assert answer["attempts"] == 1
    assert [row["part"] for row in answer["workers"]["table"]] == ["fine", "fine"]


def test_one_of_four_killed(tmp_path: Path):
    answer = play("one_of_four_killed", tmp_path / "logs")

    assert right("one_of_four_killed", answer), answer["headline"]
    first, second, *others = answer["workers"]["table"]
    assert (second["part"], second["cause"]) == ("root", "killed_outside")
    assert {one["part"] for one in (first, *others)} == {"consequence"}
    survivor = f"Worker 0 had finished step {first['step']}"
    assert any(survivor in one["text"] for one in answer["verdict"]["evidence"])


def test_one_of_three_slowed_by_its_data(tmp_path: Path):
    answer = play("one_of_three_drags", tmp_path / "logs")

    assert right("one_of_three_drags", answer), answer["headline"]
    assert answer["state"] == "finished"
