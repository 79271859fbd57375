"""Every view, light and dark, under the rules of axe-core: nobody is shut out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until

pytestmark = [
    pytest.mark.live,
    pytest.mark.browser,
    # The page is the same with each of TensorBoard's loaders.
    pytest.mark.parametrize("loader", [()], indirect=True, ids=["fast_loader"]),
]

AXE = Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = (320, 390, 768, 1280, 1920, 2560)
VIEWS = {
    "runs": "",
    "run": "&p.health.view=run&p.health.run=killed",
    "compare": "&p.health.view=compare&p.health.a=killed&p.health.b=finished",
    "compare_three": "&p.health.view=compare&p.health.a=killed&p.health.b=finished"
    "&p.health.b2=finished&p.health.draw=difference",
}


def violations(page: Any, rules: list[str]) -> list[str]:
    """What axe finds inside of the tab, a line for each element."""
    page.settle()
    inside = page.health.locator(":root")
    inside.evaluate(f"() => {{ {AXE.read_text()} }}")
    found = inside.evaluate(
        "(root, rules) => axe.run(root, {runOnly: rules}).then(r => r.violations)",
        rules,
    )
    return [
        f"{rule['id']}: {node['html']} ({node['failureSummary']})"
        for rule in found
        for node in rule["nodes"]
    ]


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
        page.locator("body").evaluate("body => body.classList.add('dark-mode')")
        page.health.locator(":root[data-theme=dark]").wait_for()

    # What is folded or opened by a button is held to the same rules.
    page.health.locator("main").evaluate(
        "main => main.querySelectorAll('details').forEach(box => { box.open = true })"
    )
    assert violations(page, RULES) == []
    if view == "runs":
        page.health.get_by_role("button", name="Keys").click()
        assert violations(page, RULES) == []


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

    assert any(line.startswith("image-alt") for line in violations(page, RULES))
