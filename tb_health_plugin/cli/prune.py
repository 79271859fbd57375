"""`tb-health prune`: removes old recordings of ours, and nothing else."""

import argparse
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_health_plugin.cli.arguments import place
from tb_health_plugin.cli.printing import console
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosis.quantities import size
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.log_directory import Root, find_runs
from tb_health_plugin.reading.opening import check_directory

DEFAULT_DAYS = 30.0
_DAY_SECONDS = 86_400.0


class Refused(Exception):
    """What was asked for would remove more than anybody can mean."""


@dataclass(frozen=True, slots=True)
class Old:
    """A recording that may go."""

    run: str
    directory: Path
    bytes: int
    days: float


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "prune",
        help="remove old recordings of Training Health",
        description="Lists recordings of Training Health that are old, and removes "
        "them with --yes. Event files of TensorBoard are never touched.",
    )
    parser.add_argument("logdir", type=place, help="the directory TensorBoard reads")
    parser.add_argument(
        "--older-than",
        type=float,
        default=DEFAULT_DAYS,
        metavar="DAYS",
        help="only what was last written this long ago (default: %(default)g)",
    )
    parser.add_argument("--yes", action="store_true", help="remove, do not just list")
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    if not options.older_than > 0:
        raise Refused("--older-than must be a number of days above 0")
    logdir = check_directory(options.logdir)
    with waiting(f"Reading {options.logdir}"):
        old = list(find_old(logdir, options.older_than, time.time()))
    printed = console(widest=None)
    for one in old:
        printed.print(f"{one.run}: {size(one.bytes)}, {one.days:.0f} days old")
    total = size(sum(one.bytes for one in old))
    if not old:
        printed.print(f"Nothing is older than {options.older_than:g} days.")
    elif options.yes:
        with waiting("Removing") as tick:
            for done, one in enumerate(old, start=1):
                shutil.rmtree(one.directory)
                tick(done, len(old))
        printed.print(f"Removed {len(old):,} recordings, {total}.")
    else:
        printed.print(f"{len(old):,} recordings, {total}. Remove them with --yes.")
    return 0


def find_old(logdir: Path, days: float, now: float) -> Iterator[Old]:
    """Recordings that were last written so long ago, and whose training is over."""
    for run in find_runs(Root(logdir.expanduser())):
        for directory in run.attempts:
            files = [path for path in directory.rglob("*") if path.is_file()]
            newest = max((p.stat().st_mtime for p in files), default=None)
            if newest is None:
                newest = directory.stat().st_mtime
            age = (now - newest) / _DAY_SECONDS
            if age >= days and not _lives(directory, now):
                yield Old(
                    run.name, directory, sum(p.stat().st_size for p in files), age
                )


def _lives(directory: Path, now: float) -> bool:
    reader = AttemptReader(directory)
    reader.refresh()
    return life_of(reader.attempt, now).alive
