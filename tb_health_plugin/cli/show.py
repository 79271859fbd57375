"""`tb-health show`: a run as lines of bars in the terminal."""

import argparse
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from tb_health_plugin.cli.arguments import add_run
from tb_health_plugin.cli.lanes import draw_lanes
from tb_health_plugin.cli.printing import STYLES, called, console, section
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosing import latest_story
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.reading.opening import open_library
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.server.incidents import incidents
from tb_health_plugin.server.payloads import IncidentPayload

# More marks than this are a page of their own: the tab has it.
MOST_INCIDENTS = 8


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "show", help="a run as bars: memory, waiting for data, loss and more"
    )
    add_run(parser)
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    with waiting(f"Reading {options.logdir}") as tick:
        library = open_library(options.logdir, tick)
        history, story = latest_story(library, options.run)
    show(history, story, console(), called(history.run, options.logdir))
    return int(story.severity != "info")


def show(
    history: RunHistory, story: Story, console: Console, name: str | None = None
) -> None:
    """Prints the run for people."""
    attempt = history.latest
    assert attempt is not None
    for line in head(history, story, name):
        console.print(line)
    console.print()
    lanes = list(draw_lanes(history, console))
    for lane in lanes:
        console.print(lane)
    if not lanes:
        console.print(Text("Nothing was sampled in this run.", style="dim"))
    section(console, "What happened", _incidents(attempt))


def head(history: RunHistory, story: Story, name: str | None = None) -> list[Text]:
    """The run's name, how far it came, and what is said of it."""
    attempt = history.latest
    assert attempt is not None
    lasted = (attempt.last_seen_at or 0.0) - (attempt.started_at or 0.0)
    parts = [
        name or called(history.run),
        story.chip,
        f"step {attempt.last_step:,}",
        duration(lasted),
    ]
    if len(history.starts) > 1:
        parts.append(f"attempt {len(history.starts):,}")
    return [
        Text(" · ".join(parts), style="dim"),
        Text(story.headline, style=STYLES[story.severity]),
    ]


def _headed(one: IncidentPayload) -> str:
    return f"step {one['step']:,}: {one['message']}"


def _stacks(one: IncidentPayload) -> Iterator[str]:
    """Where in the program each thread stood, outermost call first."""
    for thread in one["threads"]:
        own = [frame for frame in thread["frames"] if not frame["library"]]
        if own:
            who = "the thread that trains" if thread["trains"] else "another thread"
            yield f"{who}:"
        for frame in own:
            yield f"  {frame['file']}:{frame['line']} in {frame['function']}"


def _incidents(attempt: Attempt) -> list[str]:
    found = incidents([attempt])
    shown = ["\n".join([_headed(one), *_stacks(one)]) for one in found]
    more = len(shown) - MOST_INCIDENTS
    if more > 0:
        shown = [f"{more:,} earlier", *shown[more:]]
    return shown
