"""`tb-health explain`: what a verdict means, how we know, what it looks like."""

import argparse
import sys
from typing import Any

from tb_health_plugin.diagnosis.rule_pages import as_text, pages


class UnknownRule(LookupError):
    """There is no verdict of that name."""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "explain", help="what a verdict means and how we know"
    )
    parser.add_argument("rule", nargs="?", help="its id; without one: list them all")
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    explain(options.rule)
    return 0


def explain(rule: str | None) -> None:
    """Prints the page of a verdict, or one line for each.

    Raises:
        UnknownRule: There is none of that name.
    """
    known = pages()
    if rule is None:
        for id, page in known.items():
            sys.stdout.write(f"{id:22} {page.title}\n")
        return
    if rule not in known:
        raise UnknownRule(f"No rule is called {rule!r}; tb-health explain lists them")
    sys.stdout.write(as_text(known[rule]) + "\n")
