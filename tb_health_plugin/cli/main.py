"""`tb-health`: what the tab says, in a terminal."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tb_health_plugin import __version__
from tb_health_plugin.cli import compare, explain, replay, run, why
from tb_health_plugin.diagnosing import NothingRecorded
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.view import View

HEALTHY, PROBLEM_FOUND, USAGE_ERROR = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    program: list[str] = []
    if given[:1] == ["run"]:
        own, program = run.split(given[1:])
        given = ["run", *own]
    options = _parser().parse_args(given)
    try:
        if options.command == "run":
            return run.run(program, logdir=options.logdir, quiet=options.quiet)
        if options.command == "why":
            bad = why.why(options.logdir, options.run, as_json=options.json)
            return PROBLEM_FOUND if bad else HEALTHY
        if options.command == "compare":
            differ = compare.compare(
                options.logdir,
                options.a,
                options.b,
                options.align,
                as_json=options.json,
            )
            return PROBLEM_FOUND if differ else HEALTHY
        if options.command == "replay":
            replay.show_replay(options.logdir, options.run)
            return HEALTHY
        if options.command == "explain":
            explain.explain(options.rule)
            return HEALTHY
        return _list(options.logdir)
    except (
        NotADirectoryError,
        NothingRecorded,
        RequestError,
        compare.NothingToCompare,
        explain.UnknownRule,
        run.CannotStart,
    ) as error:
        sys.stderr.write(f"tb-health: {error}\n")
        return USAGE_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tb-health", description="Where did this training stop, and why?"
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    listing = commands.add_parser("list", help="every run of a log directory")
    listing.add_argument("logdir", type=Path, help="the directory TensorBoard reads")
    why.add_parser(commands)
    compare.add_parser(commands)
    replay.add_parser(commands)
    explain.add_parser(commands)
    run.add_parser(commands)
    return parser


def _list(logdir: Path) -> int:
    if not logdir.is_dir():
        raise NotADirectoryError(f"{logdir} is not a directory")
    view = View(Library([Root(logdir)]))
    view.refresh()
    told = view.runs()
    for one in told:
        words = one.story.headline if one.story else "Not monitored"
        sys.stdout.write(f"{one.run.name}: {words}\n")
    if not told:
        sys.stdout.write(f"No runs below {logdir}\n")
    bad = any(one.story and one.story.severity != "info" for one in told)
    return PROBLEM_FOUND if bad else HEALTHY
