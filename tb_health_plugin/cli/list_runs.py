"""`tb-health list`: one line for every run."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tb_health_plugin.cli.arguments import place
from tb_health_plugin.cli.printing import STYLES, console, print_json
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.reading.library import Library, Tick
from tb_health_plugin.reading.opening import NothingRecorded, open_library, why_nothing
from tb_health_plugin.reading.scalars import (
    Scalars,
    add_summaries,
    plain_runs,
    read_scalars,
)
from tb_health_plugin.server.view import ToldRun, View

# Reading event files takes long; of more runs than this only the names are listed.
MOST_PLAIN = 200


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "list", help="every run of a log directory"
    )
    parser.add_argument(
        "logdir",
        type=place,
        nargs="?",
        default=Path(),
        help="the directory TensorBoard reads (default: here)",
    )
    parser.add_argument(
        "--json", action="store_true", help='print the "runs" of GET /runs'
    )
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    with waiting(f"Reading {options.logdir}") as tick:
        library = open_library(options.logdir, tick)
        if not library.runs():
            raise NothingRecorded(why_nothing(library))
        add_summaries(library)
        view = View(library)
        view.add_plain(_scalars(library, tick))
        view.tell_all()
    told = view.runs()
    if options.json:
        print_json([one.row for one in told])
    else:
        # A line is a run, for grep and for the eye: it is never broken.
        show(told, console(widest=None))
    stories = [one.story or (one.partial and one.partial.story) for one in told]
    return int(any(story and story.severity != "info" for story in stories))


def _scalars(library: Library, tick: Tick) -> dict[str, Scalars]:
    """What runs without health data left, as far as it is worth the wait."""
    plain = list(plain_runs(library).items())[:MOST_PLAIN]
    found = {}
    for done, (name, places) in enumerate(plain, start=1):
        found[name] = read_scalars(name, places)
        tick(done, len(plain))
    return found


def show(told: Sequence[ToldRun], printed: Console) -> None:
    """Prints a line for each run."""
    for one in told:
        story, row = one.story, one.row
        line = Text(f"{one.run.name}: ")
        if story is not None:
            # In a pipe there are no colours.
            sign = "" if story.severity == "info" else f"[{story.severity}] "
            line.append(f"{sign}{story.headline}", STYLES[story.severity])
        elif one.partial is not None:
            line.append(row["headline"], _style(one.partial.story))
        else:
            line.append(row["chip"], "dim")
        printed.print(line, soft_wrap=True)


def _style(partial: Story) -> str:
    return "dim" if partial.severity == "info" else STYLES[partial.severity]
