"""`tb-health`: what the tab says, in a terminal."""

import argparse
import os
import sys
from collections.abc import Sequence

from tb_health_plugin import __version__
from tb_health_plugin.cli import (
    compare,
    completion,
    doctor,
    engines,
    explain,
    list_runs,
    prune,
    replay,
    report,
    run,
    show,
    watch,
    why,
)
from tb_health_plugin.events.rule_choices import BadRules
from tb_health_plugin.reading.opening import CannotRead, NothingRecorded
from tb_health_plugin.server.errors import RequestError

HEALTHY, PROBLEM_FOUND, USAGE_ERROR = 0, 1, 2
# As shells count a Ctrl-C.
INTERRUPTED = 130

# In the order of the help. Each module adds its parser and names what it calls.
COMMANDS = (
    why,
    list_runs,
    show,
    watch,
    compare,
    report,
    replay,
    explain,
    run,
    doctor,
    prune,
    completion,
)

# What a user can get wrong. The message is one sentence for them.
_MISTAKES = (
    BadRules,
    CannotRead,
    NothingRecorded,
    RequestError,
    compare.NothingToCompare,
    engines.NoEngine,
    explain.UnknownRule,
    prune.Refused,
    report.CannotWrite,
    run.CannotStart,
    watch.BecameShorter,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    program: list[str] = []
    if given[:1] == ["run"]:
        own, program = run.split(given[1:])
        given = ["run", *own]
    options = parser().parse_args(given)
    try:
        if options.command == "run":
            return run.run(
                program,
                logdir=options.logdir,
                quiet=options.quiet,
                gradients=options.gradients,
            )
        status: int = options.call(options)
        sys.stdout.flush()
        return status
    except _MISTAKES as error:
        sys.stderr.write(f"tb-health: {error}\n")
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has seen enough, as in `tb-health list | head`. Python would
        # complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return HEALTHY
    except OSError as error:
        # A disk that fails, a file that vanished: nothing that a traceback explains.
        about = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"tb-health: {about}{error.strerror or error}\n")
        return USAGE_ERROR


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    made = argparse.ArgumentParser(
        prog="tb-health",
        description="Where did this training stop, and why?",
        epilog="Exit status: 0 nothing wrong, 1 a problem was found, 2 wrong usage or "
        "nothing to read.",
    )
    made.add_argument("--version", action="version", version=__version__)
    commands = made.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in COMMANDS:
        command.add_parser(commands)
    return made
