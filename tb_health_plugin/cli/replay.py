"""`tb-health replay`: how long before the end each finding could have been known."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from tb_health_plugin.cli.arguments import add_run
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.cli.why import add_rules_option
from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.diagnosis.replay import FirstKnown, replay
from tb_health_plugin.events.rule_choices import parsed
from tb_health_plugin.reading.liveness import life_of


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "replay", help="when each finding could first have been known"
    )
    add_run(parser)
    add_rules_option(parser)
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    show_replay(options.logdir, options.run, rules=options.rules)
    return 0


def show_replay(logdir: Path | str, run: str | None, *, rules: str = "") -> None:
    """Prints one line per finding.

    Raises:
        NotADirectoryError: There is no such directory.
        NothingRecorded: There is no such run in it.
        BadRules: There is no such rule or number.
    """
    wanted = parsed(rules)
    with waiting(f"Replaying {logdir}"):
        history = find_run(logdir, run, rules=wanted)
        attempt = history.latest
        assert attempt is not None
        known = replay(attempt, life_of(attempt, time.time()), reader=history.rules)
    for one in known:
        sys.stdout.write(f"{_lead(one)}: {one.finding.headline} ({one.finding.id})\n")
    if not known:
        sys.stdout.write("Nothing was found in this run.\n")


def _lead(one: FirstKnown) -> str:
    seconds = one.seconds_before_end
    if seconds < 1:
        return "At the end"
    shown = f"{seconds / 60:,.0f} min" if seconds >= 120 else f"{seconds:,.0f} s"
    return f"{shown} before the end (step {one.at.step or 0:,})"
