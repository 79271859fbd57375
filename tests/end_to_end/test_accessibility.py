"""Every view, light and dark, under the rules of axe-core: nobody is shut out."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer
from tests.end_to_end.axe import darken, unfold, violations

pytestmark = [
    pytest.mark.live,
    pytest.mark.browser,
    # The page is the same with each of TensorBoard's loaders.
    pytest.mark.parametrize("loader", [()], indirect=True, ids=["fast_loader"]),
]

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


def test_a_picture_without_words_would_be_found(
    server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{server.url}/#health")
    page.health.locator("main").evaluate(
        "main => main.append(document.createElement('img'))"
    )

    assert any(line.startswith("image-alt") for line in violations(page))
