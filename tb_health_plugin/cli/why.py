"""`tb-health why`: the verdict of a run, to read or to parse."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tb_health_plugin.cli.arguments import add_run
from tb_health_plugin.cli.printing import (
    STYLES,
    WIDEST,
    called,
    console,
    print_json,
    section,
)
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosing import answer_in
from tb_health_plugin.diagnosis.as_json import (
    Answer,
    SilencedPayload,
    TunedPayload,
    VerdictPayload,
    WorkersPayload,
)
from tb_health_plugin.events.rule_choices import parsed
from tb_health_plugin.reading.opening import open_library

# The end of a training is on disk within two seconds of it.
END_WRITTEN_SECONDS = 3.0
# More lines of what is not measured than this hide the answer.
MOST_NOT_MEASURED = 3
MOST_WORKERS = 6
# What a worker has to do with the cause, as it matters.
_PARTS = ("root", "same", "consequence", "no record", "fine")
_BY = {"run": "by the run itself", "reader": "by whoever reads"}


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "why", help="why a run stopped, and what to change"
    )
    add_run(parser)
    parser.add_argument(
        "--json", action="store_true", help="print what verdict.schema.json describes"
    )
    add_rules_option(parser)
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    found = why(options.logdir, options.run, as_json=options.json, rules=options.rules)
    return int(found)


def add_rules_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules",
        default="",
        metavar="RULE=off,RULE.NUMBER=0.8",
        help="silence rules or tune their numbers (tb-health explain RULE lists them)",
    )


def why(logdir: Path | str, run: str | None, *, as_json: bool, rules: str = "") -> bool:
    """Prints the answer; true if the run needs somebody.

    Raises:
        NotADirectoryError: There is no such directory.
        NothingRecorded: There is no such run in it.
        BadRules: There is no such rule or number.
    """
    wanted = parsed(rules)
    with waiting(f"Reading {logdir}") as tick:
        library = open_library(logdir, tick)
        answer = answer_in(library, run, wanted, wait_seconds=END_WRITTEN_SECONDS)
    if as_json:
        print_json(answer)
    else:
        show(answer, console(), called(answer["run"], logdir))
    return answer["verdict"]["severity"] != "info"


def show(answer: Answer, console: Console, name: str | None = None) -> None:
    """Prints an answer for people."""
    console.width = min(console.width, WIDEST)
    verdict = answer["verdict"]
    told = f"{name or called(answer['run'])} · {answer['chip']}"
    if answer["partial"]:
        told += " · partial: from its scalars alone"
    console.print(Text(told, style="dim"))
    console.print(Text(verdict["headline"], style=STYLES[verdict["severity"]]))
    sure = f"[{verdict['confidence']}] " if verdict["evidence"] else ""
    console.print(Text(f"{sure}{verdict['because']}"))
    section(console, "How we know", _evidence(verdict))
    section(console, "What to do", _fixes(verdict))
    section(console, "Read on", _docs(verdict))
    console.print()
    console.print(Text(f"More: tb-health explain {verdict['id']}", style="dim"))
    others = [one for one in answer["findings"] if one["id"] != verdict["id"]]
    section(console, "Also found", [f"{o['headline']} ({o['id']})" for o in others])
    section(console, "Workers", _workers(answer["workers"]))
    section(console, "Earlier starts of this run", _earlier(answer))
    missing = [f"{m['what']}: {m['why']}" for m in answer["not_measured"]]
    more = len(missing) - MOST_NOT_MEASURED
    if more > 0:
        missing = [*missing[:MOST_NOT_MEASURED], f"and {more} more (see --json)"]
    section(console, "Not measured", missing)
    section(console, "Silenced, so nobody looked", map(_silenced, answer["silenced"]))
    section(console, "Numbers that were set", map(_tuned, answer["tuned"]))


def _silenced(one: SilencedPayload) -> str:
    return f"{one['rule']} ({_BY[one['by']]})"


def _tuned(one: TunedPayload) -> str:
    words = f"{one['name']} is {one['value']:g}, not {one['default']:g}"
    return f"{words} ({_BY[one['by']]})"


def _evidence(verdict: VerdictPayload) -> Iterator[str]:
    for one in verdict["evidence"]:
        yield one["text"]


def _fixes(verdict: VerdictPayload) -> Iterator[str]:
    for fix in verdict["fixes"]:
        yield f"{fix['title']}. {fix['why']}\n{fix['code'] or ''}".rstrip()


def _docs(verdict: VerdictPayload) -> Iterator[str]:
    for doc in verdict["docs"] if verdict["severity"] != "info" else ():
        yield f"{doc['name']}\n{doc['url']}"


def _earlier(answer: Answer) -> Iterator[str]:
    first = answer["attempts"] - len(answer["earlier"])
    for number, one in enumerate(answer["earlier"], start=first):
        yield f"{number:,}: {one['headline']}"


def _workers(workers: WorkersPayload | None) -> Iterator[str]:
    """Those that matter most first; the rest is counted."""
    if workers is None:
        return
    table = sorted(workers["table"], key=lambda one: _PARTS.index(one["part"]))
    for one in table[:MOST_WORKERS]:
        yield f"{one['name']} ({one['part']}): {one['headline']}"
    if len(table) > MOST_WORKERS:
        yield f"and {len(table) - MOST_WORKERS:,} more (see --json)"
    yield from workers["notes"]
