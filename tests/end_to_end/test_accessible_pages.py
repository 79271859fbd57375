"""Pages of runs with parts that others have not, under the rules of axe-core."""

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tests import runs
from tests.end_to_end.axe import darken, unfold, violations
from tests.end_to_end.light_tensorboard import tensorboard
from tests.plain_events import write_scalars
from tests.workers import recorded as workers

pytestmark = [pytest.mark.live, pytest.mark.browser]

PAGES = {
    "stacks": "input_hang",
    "gradients": "vanishing_gradients",
    "workers": "workers",
    "unmonitored": "plain",
    "no such run": "nobody",
}


@pytest.fixture(scope="module")
def many_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoardServer]:
    """TensorBoard on runs that have these pages."""
    logs = tmp_path_factory.mktemp("pages")
    for name in (PAGES["stacks"], PAGES["gradients"]):
        shutil.copytree(runs.HERE / name / "plugins", logs / name / "plugins")
    team = workers.HERE / "killed" / "plugins"
    shutil.copytree(team, logs / PAGES["workers"] / "plugins")
    write_scalars(logs / PAGES["unmonitored"], {"loss": [1.0, 0.5, math.nan]})
    with tensorboard(["--logdir", str(logs), "--reload_interval=1"]) as running:
        wait_until(lambda: len(running.json("/data/plugin/health/runs")["runs"]) == 4)
        yield running


@pytest.mark.parametrize("name", PAGES)
def test_no_page_of_a_run_breaks_a_rule_of_accessibility(
    many_pages: TensorBoardServer, open_page: Callable[[str], Any], name: str
) -> None:
    run = f"&p.health.view=run&p.health.run={PAGES[name]}"
    page = open_page(f"{many_pages.url}/#health{run}")
    page.health.locator("main :is(h2, .nothing-found)").first.wait_for()
    unfold(page)

    assert violations(page) == []
    darken(page)
    assert violations(page) == []


def test_the_page_without_a_run_breaks_no_rule_of_accessibility(
    tmp_path: Path, open_page: Callable[[str], Any]
) -> None:
    with tensorboard(["--logdir", str(tmp_path)]) as running:
        page = open_page(f"{running.url}/#health")
        page.health.get_by_role("heading", name="No runs here yet").wait_for()

        assert violations(page) == []
        darken(page)
        assert violations(page) == []
