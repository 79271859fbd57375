"""Every view at every width, and without motion for those who asked for none."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = [pytest.mark.live, pytest.mark.browser]

RECORDED = Path(__file__).parents[1] / "runs"
RUNS = ("host_oom", "input_hang", "vanishing_gradients", "healthy-6", "healthy-12")
WIDTHS = (390, 600, 768, 1024, 1280, 1920, 2560)
# Where each view is, and what tells that it is there.
VIEWS = {
    "runs": ("", "table.runs"),
    "a death": ("&p.health.view=run&p.health.run=host_oom", "[data-lane] canvas"),
    "a hang": ("&p.health.view=run&p.health.run=input_hang", ".stacks"),
    "layers": (
        "&p.health.view=run&p.health.run=vanishing_gradients",
        "[data-lane] canvas",
    ),
    "compare": (
        "&p.health.view=compare&p.health.a=healthy-6&p.health.b=healthy-12",
        "[data-lane] canvas",
    ),
}
# Elements that are moved by anything but the reader.
MOVING = """() => [...document.querySelectorAll("*")].filter((one) => {
    const { animationName, animationDuration, transitionDuration } =
        getComputedStyle(one);
    const lasts = (times) => times.split(",").some((time) => parseFloat(time) > 0);
    return (animationName !== "none" && lasts(animationDuration))
        || lasts(transitionDuration);
}).map((one) => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoardServer]:
    logs = tmp_path_factory.mktemp("widths")
    for name in RUNS:
        shutil.copytree(RECORDED / name / "plugins", logs / name / "plugins")
    with tensorboard(["--logdir", str(logs), "--reload_interval=5"]) as running:
        wait_until(
            lambda: len(running.json("/data/plugin/health/runs")["runs"]) == len(RUNS)
        )
        yield running


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_sticks_out_at_any_width(
    tab: TensorBoardServer, open_page: Callable[[str], Any], view: str
) -> None:
    address, sign = VIEWS[view]
    page = open_page(f"{tab.url}/#health{address}")
    page.health.locator(sign).first.wait_for()
    window = page.locator("body").page

    beyond = {}
    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 900})
        page.health.locator(sign).first.wait_for()
        page.settle()
        beyond[width] = page.pixels_beyond

    assert beyond == dict.fromkeys(WIDTHS, 0)
    page.assert_quiet(tab.url)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_moves_for_those_who_asked_for_no_motion(
    tab: TensorBoardServer, open_page: Callable[[str], Any], view: str
) -> None:
    address, sign = VIEWS[view]
    page = open_page(f"{tab.url}/#health{address}")
    page.health.locator(sign).first.wait_for()
    inside = page.health.locator("html")
    assert inside.evaluate(MOVING), "nothing moves anyway: this asks nothing"

    page.locator("body").page.emulate_media(reduced_motion="reduce")

    assert inside.evaluate(MOVING) == []
