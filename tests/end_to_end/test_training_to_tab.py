"""From `model.fit` in one process to the pixels of the tab, with both loaders."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tests.end_to_end.ink import wait_for_ink

pytestmark = pytest.mark.live


def row_of(server: TensorBoardServer, run: str) -> dict[str, Any]:
    def row() -> dict[str, Any] | None:
        rows = server.json("/data/plugin/health/runs")["runs"]
        return next((one for one in rows if one["name"] == run), None)

    found: dict[str, Any] = wait_until(row)
    return found


def test_a_finished_training_is_listed_with_its_steps(
    server: TensorBoardServer,
) -> None:
    row = row_of(server, "finished")

    assert row["state"] == "finished"
    assert (row["step"], row["planned_steps"]) == (200, 200)
    assert (row["epoch"], row["planned_epochs"]) == (4, 4)


def test_a_training_killed_within_an_epoch_is_listed_as_died(
    server: TensorBoardServer,
) -> None:
    row = row_of(server, "killed")

    assert row["state"] == "died"
    assert row["epoch"] == 2
    assert 50 <= row["step"] <= 80


def test_what_keras_wrote_beside_us_belongs_to_the_same_run(
    server: TensorBoardServer,
) -> None:
    assert row_of(server, "finished")["tensorboard_runs"] == ["finished/train"]


@pytest.mark.browser
def test_the_tab_lists_both_runs_with_how_they_ended(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health")

    rows = page.health.get_by_role("row")
    for run in ("killed", "finished"):
        chip = row_of(server, run)["chip"]
        rows.filter(has_text=run).get_by_text(chip, exact=True).wait_for()


@pytest.mark.browser
def test_a_click_on_a_run_tells_its_story(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health")

    page.health.get_by_role("link", name="killed").first.click()

    headline = row_of(server, "killed")["headline"]
    page.health.get_by_role("heading", name=headline).wait_for()


@pytest.mark.browser
def test_the_lane_draws_the_memory_that_was_recorded(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    points = server.json("/data/plugin/health/lane?run=finished&lane=host_memory")
    (memory,) = [s for s in points["series"] if s["column"] == "process_rss_bytes"]

    page = open_page(f"{server.url}/#health&p.health.view=run&p.health.run=finished")
    lane = page.health.locator("[data-lane=host_memory]")

    # The very last sample may be taken while the process lets go of its memory.
    measured = [value for value in memory["mean"] if value is not None]
    last = f"last {measured[-1] / 2**20:,.0f} MiB"
    lane.get_by_role("img", name=last).wait_for()
    canvas = lane.locator("canvas")
    wait_for_ink(canvas, 0.5)


@pytest.mark.browser
def test_the_tab_complains_of_nothing_and_talks_to_tensorboard_only(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health&p.health.view=run&p.health.run=finished")
    page.health.locator("[data-lane=host_memory] canvas").wait_for()
    page.assert_quiet(server.url)
    assert any("/data/plugin/health/lane" in url for url in page.requests)
