"""Every view, light and dark, under the rules of axe-core: nobody is shut out."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tests.end_to_end.axe import darken, unfold, violations

pytestmark = [
    pytest.mark.live,
    pytest.mark.browser,
    # The page is the same with each of TensorBoard's loaders.
    pytest.mark.parametrize("loader", [()], indirect=True, ids=["fast_loader"]),
]

WIDTHS = (320, 390, 768, 1280, 1920, 2560)
VIEWS = {
    "runs": "",
    "run": "&p.health.view=run&p.health.run=killed",
    "compare": "&p.health.view=compare&p.health.a=killed&p.health.b=finished",
    "compare_three": "&p.health.view=compare&p.health.a=killed&p.health.b=finished"
    "&p.health.b2=finished&p.health.draw=difference",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_breaks_a_rule_of_accessibility(
    server: TensorBoardServer,
    open_page: Callable[[str], Any],
    view: str,
    theme: str,
) -> None:
    page = open_page(f"{server.url}/#health{VIEWS[view]}")
    page.health.locator("main h1").first.wait_for(state="attached")
    if theme == "dark":
        darken(page)
    unfold(page)
    assert violations(page) == []
    if view == "runs":
        page.health.get_by_role("button", name="Keys").click()
        assert violations(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_sticks_out_at_any_width(
    server: TensorBoardServer, open_page: Callable[[str], Any], view: str
) -> None:
    page = open_page(f"{server.url}/#health{VIEWS[view]}")
    page.health.locator("table.runs, .lanes").first.wait_for()
    window = page.locator("body").page

    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 900})
        wait_until(lambda: page.pixels_beyond == 0)


def test_nothing_moves_for_those_who_asked_for_that(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health{VIEWS['run']}")
    page.health.locator(".lanes").wait_for()
    moving = """root => [...root.querySelectorAll("*")].filter(one => {
      const style = getComputedStyle(one);
      return style.transitionDuration !== "0s" || style.animationName !== "none";
    }).length"""
    inside = page.health.locator(":root")

    assert inside.evaluate(moving) > 0
    page.locator("body").page.emulate_media(reduced_motion="reduce")
    assert inside.evaluate(moving) == 0


def test_a_picture_without_words_would_be_found(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health")
    page.health.locator("main").evaluate(
        "main => main.append(document.createElement('img'))"
    )

    assert any(line.startswith("image-alt") for line in violations(page))
