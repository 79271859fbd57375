"""Asks axe-core what in a page shuts somebody out."""

from pathlib import Path
from typing import Any

AXE = Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Any) -> list[str]:
    """What axe finds inside of the tab, a line for each element."""
    page.settle()
    inside = page.health.locator(":root")
    inside.evaluate(f"() => {{ {AXE.read_text()} }}")
    found = inside.evaluate(
        "(root, rules) => axe.run(root, {runOnly: rules}).then(r => r.violations)",
        RULES,
    )
    return [
        f"{rule['id']}: {node['html']} ({node['failureSummary']})"
        for rule in found
        for node in rule["nodes"]
    ]


def unfold(page: Any) -> None:
    """What is folded or opened by a button is held to the same rules."""
    page.health.locator("main").evaluate(
        "main => main.querySelectorAll('details').forEach(box => { box.open = true })"
    )


def darken(page: Any) -> None:
    page.locator("body").evaluate("body => body.classList.add('dark-mode')")
    page.health.locator(":root[data-theme=dark]").wait_for()
