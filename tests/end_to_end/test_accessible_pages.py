"""Pages without a run, under the rules of axe-core."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.axe import darken, violations
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = [pytest.mark.live, pytest.mark.browser]


def test_the_page_of_no_run_breaks_no_rule_of_accessibility(
    tmp_path: Path, open_page: Callable[[str], Any]
) -> None:
    with tensorboard(["--logdir", str(tmp_path)]) as running:
        run = "&p.health.view=run&p.health.run=nobody"
        page = open_page(f"{running.url}/#health{run}")
        page.health.locator(".nothing-found").wait_for()

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
