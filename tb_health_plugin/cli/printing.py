"""What all commands share when they print: width, sections, colours, JSON."""

import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tb_health_plugin.events.attempt import is_remote

# Read best at this width, however wide the terminal is.
WIDEST = 100

STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold"}


class _Output(Console):
    """Standard output of whoever reads no further, as in `tb-health why | head`."""

    def on_broken_pipe(self) -> None:
        # Rich would end with status 1, which means a problem was found.
        raise BrokenPipeError


def console(widest: int | None = WIDEST) -> Console:
    """Standard output: in colour on a terminal, plain in a pipe or a file."""
    made = _Output(highlight=False, soft_wrap=False, emoji=False)
    if widest is not None:
        made.width = min(made.width, widest)
    return made


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def section(console: Console, title: str, items: Iterable[str]) -> None:
    """A title and its items; nothing if there are none.

    What follows the first line of an item is code to be copied: it is never wrapped.
    """
    items = list(items)
    if not items:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for item in items:
        words, _, code = item.partition("\n")
        filled = textwrap.fill(
            words, console.width, initial_indent="  - ", subsequent_indent="    "
        )
        console.print(Text(filled))
        if code:
            console.out(textwrap.indent(code, "      "), style="cyan", highlight=False)


def called(run: str, logdir: Path | str | None = None) -> str:
    """The name of a run; of one that fills its log directory, that of the directory."""
    if run != ".":
        return run
    if logdir is None or is_remote(logdir):
        return "this run"
    return Path(logdir).absolute().name
