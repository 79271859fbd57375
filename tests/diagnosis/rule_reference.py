"""Writes `docs/rules.md` from the pages that `tb-health explain` prints.

python -m tests.diagnosis.rule_reference
"""

from pathlib import Path

from tb_health_plugin.diagnosis.rule_pages import Page, as_markdown, pages
from tb_health_plugin.diagnosis.rules import all_rules

DOCUMENT = Path(__file__).parents[2] / "docs" / "rules.md"
HEAD = """# Verdicts, one by one

What each verdict means, how we know, what it is mistaken for and what to do. In a
terminal `tb-health explain ID` prints the same. How to silence a rule or set one of
its numbers is in [tuning.md](tuning.md).

Written by `make docs` from the rules themselves; a test compares. Change a rule's
docstring, not this file.
"""


def reference() -> str:
    """The whole document."""
    known = list(pages().values())
    ids = {rule.id for rule in all_rules()}
    rules = [page for page in known if page.id in ids]
    ends = [page for page in known if page.id not in ids]
    parts = [HEAD, "Found by a rule:\n", *map(_line, rules)]
    parts += ["\nTold by how the run ended or stands:\n", *map(_line, ends)]
    return "\n".join(parts) + "\n\n" + "\n\n".join(map(as_markdown, known)) + "\n"


def _line(page: Page) -> str:
    return f"* [`{page.id}`](#{page.id}): {page.title}"


if __name__ == "__main__":
    DOCUMENT.write_text(reference())
