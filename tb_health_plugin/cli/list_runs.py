"""`tb-health list`: one line for every run."""

import argparse
from pathlib import Path
from typing import Any

from rich.text import Text

from tb_health_plugin.cli.printing import STYLES, console, print_json
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.reading.opening import NothingRecorded, open_library, why_nothing
from tb_health_plugin.reading.scalars import add_summaries
from tb_health_plugin.server.answers import run_row
from tb_health_plugin.server.view import ToldRun, View


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "list", help="every run of a log directory"
    )
    parser.add_argument(
        "logdir",
        type=Path,
        nargs="?",
        default=Path(),
        help="the directory TensorBoard reads (default: here)",
    )
    parser.add_argument(
        "--json", action="store_true", help='print the "runs" of GET /runs'
    )
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    with waiting(f"Reading {options.logdir} ..."):
        library = open_library(options.logdir)
        add_summaries(library)
        if not library.runs():
            raise NothingRecorded(why_nothing(library))
        view = View(library)
        view.tell_all()
    told = view.runs()
    if options.json:
        print_json([run_row(one) for one in told])
    else:
        _print(told)
    bad = any(one.story and one.story.severity != "info" for one in told)
    return int(bad)


def _print(told: list[ToldRun]) -> None:
    # A line is a run, for grep and for the eye: it is never broken.
    printed = console(widest=None)
    for one in told:
        story = one.story
        line = Text(f"{one.run.name}: ")
        if story is None:
            line.append("Not monitored", "dim")
        else:
            line.append(story.headline, STYLES[story.severity])
        printed.print(line, soft_wrap=True)
