"""`tb-health watch`: a running training, live in the terminal, until it ends."""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tb_health_plugin.cli.arguments import add_run
from tb_health_plugin.cli.lanes import draw_lanes
from tb_health_plugin.cli.printing import console
from tb_health_plugin.cli.show import head
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.cli.why import show as show_answer
from tb_health_plugin.diagnosing import judge_latest
from tb_health_plugin.diagnosis.as_json import answer
from tb_health_plugin.diagnosis.together import StartStory
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.opening import (
    NothingRecorded,
    open_library,
    recorded_run,
)
from tb_health_plugin.reading.run_history import RunHistory

PERIOD_SECONDS = 1.0
_LIVING = ("running", "stuck")
# A new training may be just about to write its first fact.
BEGINS_WITHIN_SECONDS = 5.0


class BecameShorter(Exception):
    """A file of the record was cut while it was followed."""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "watch", help="follow a running training until it ends"
    )
    add_run(parser)
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    printed = console()
    try:
        history, told = watch(options.logdir, options.run, printed)
    except KeyboardInterrupt:
        # The training goes on; only looking at it has ended.
        return 0
    printed.print()
    show_answer(answer(history, told.story, told), printed)
    return int(told.story.severity != "info")


def watch(
    logdir: Path | str, run: str | None, console: Console
) -> tuple[RunHistory, StartStory]:
    """Shows the run until it has ended; returns it.

    Raises:
        CannotRead: There is no such directory.
        NothingRecorded: There is no such run in it.
        BecameShorter: A file of the record was cut meanwhile.
    """
    said = ""
    with waiting(f"Reading {logdir}") as tick:
        library = open_library(logdir, tick)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for history, told in _looks(library, run):
            if console.is_terminal:
                lanes = list(draw_lanes(history, console))
                live.update(Group(*head(history, told.story), *lanes), refresh=True)
            elif told.story.headline != said:
                said = told.story.headline
                console.print(Text(said))
    return history, told


def _looks(
    library: Library, run: str | None
) -> Iterator[tuple[RunHistory, StartStory]]:
    """What is known of the run, again and again, until it has ended."""
    until = time.monotonic() + BEGINS_WITHIN_SECONDS
    name: str | None = run
    while True:
        try:
            found = recorded_run(library, name)
        except NothingRecorded:
            if time.monotonic() > until:
                raise
        else:
            name = found.name
            for problem in found.problems:
                if "became shorter" in problem.message:
                    raise BecameShorter(f"{problem.file.name} {problem.message}")
            history, told = judge_latest(found.history)
            yield history, told
            if told.story.state not in _LIVING:
                return
        time.sleep(PERIOD_SECONDS)
        library.refresh()
