"""`tb-health report`: one or many runs as a page, a table or data to go on with."""

import argparse
import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tb_health_plugin import __version__
from tb_health_plugin.cli.many_runs import Judged, judge_all
from tb_health_plugin.cli.markdown import markdown
from tb_health_plugin.cli.overview import is_problem, lost_hours, overview
from tb_health_plugin.cli.printing import STYLES, console
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.reading.opening import (
    NothingRecorded,
    check_directory,
    open_library,
    recorded_run,
)
from tb_health_plugin.server.report_page import MOST_RUNS, report_html

COLUMNS = (
    "logdir",
    "run",
    "verdict",
    "detail",
    "severity",
    "confidence",
    "state",
    "step",
    "attempts",
    "started_at",
    "hours",
    "lost_hours",
    "program",
    "host",
    "headline",
)


_PAGE = ".html"


class CannotWrite(Exception):
    """The report cannot be written. The message says why."""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="a page on a run to send around, or a table of many runs",
        description="Without -o a table is printed. The end of FILE says the format: "
        ".html (a page that opens from disk), .md (for an issue), .json, .jsonl (one "
        "run a line), .csv.",
    )
    parser.add_argument("logdirs", type=Path, nargs="+", metavar="LOGDIR")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument(
        "--run", action="append", help="only this run; may be given several times"
    )
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    file: Path | None = options.output
    kind = file.suffix.lower() if file else ""
    if file and kind not in (_PAGE, *_FORMATS):
        known = ", ".join((_PAGE, *_FORMATS))
        raise CannotWrite(f"{file} must end in one of {known}")
    logdirs = [check_directory(logdir) for logdir in options.logdirs]
    judged = _judge(logdirs, options.run)
    if file is None:
        print_table(judged, console(widest=None))
    elif kind == _PAGE:
        _write(file, _html(logdirs, judged))
    else:
        _write(file, _FORMATS[kind](judged))
    return int(any(map(is_problem, judged)))


def _judge(logdirs: Sequence[Path], names: Sequence[str] | None) -> list[Judged]:
    with waiting("Judging runs") as tick:
        judged = judge_all(logdirs, tick)
    if names:
        judged = [one for one in judged if one.answer["run"] in names]
    if not judged:
        for logdir in logdirs:
            # Raises with what there is instead.
            recorded_run(open_library(logdir), names[0] if names else None)
        raise NothingRecorded("No run with health data was found")
    return judged


def _html(logdirs: Sequence[Path], judged: Sequence[Judged]) -> str:
    if len(logdirs) != 1:
        raise CannotWrite("A page shows the runs of one log directory; name just one")
    # The first is the one in question: a run with a problem, if there is one.
    runs = [
        one.answer["run"] for one in sorted(judged, key=lambda j: not is_problem(j))
    ]
    if len(runs) > MOST_RUNS:
        raise CannotWrite(
            f"A page has room for {MOST_RUNS} runs, and there are {len(runs):,}: "
            "choose some with --run, or write .csv, .json or .md"
        )
    with waiting("Writing the page"):
        return report_html(logdirs[0], runs)


def _write(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        # Whole or not at all: nobody sends half a report around.
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CannotWrite(f"{file} cannot be written: {error.strerror}") from error
    size = file.stat().st_size / 1024
    Console(stderr=True, highlight=False).print(f"{file}: {size:,.0f} KiB")


def _row(one: Judged) -> dict[str, Any]:
    verdict = one.answer["verdict"]
    return {
        "logdir": one.logdir,
        "run": one.answer["run"],
        "verdict": verdict["id"],
        "detail": verdict["detail"],
        "severity": verdict["severity"],
        "confidence": verdict["confidence"],
        "state": one.answer["state"],
        "step": one.answer["step"],
        "attempts": one.answer["attempts"],
        "started_at": one.answer["started_at"],
        "hours": round(one.hours, 4),
        "lost_hours": round(lost_hours(one), 4),
        "program": one.program,
        "host": one.host,
        "headline": verdict["headline"],
    }


def _json(judged: Sequence[Judged]) -> str:
    whole = {
        "tensorboard-plugin-health": __version__,
        "overview": overview(judged),
        "runs": [{"logdir": one.logdir, **one.answer} for one in judged],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _json_lines(judged: Sequence[Judged]) -> str:
    rows = ({"logdir": one.logdir, **one.answer} for one in judged)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(judged: Sequence[Judged]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows(map(_row, judged))
    return file.getvalue()


_FORMATS: dict[str, Callable[[Sequence[Judged]], str]] = {
    ".md": markdown,
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _csv,
}


def print_table(judged: Sequence[Judged], console: Console) -> None:
    """Causes, hours lost to them, and programs that failed again."""
    whole = overview(judged)
    console.print(
        Text(
            f"{whole['runs']:,} runs, {whole['problems']:,} with a problem, "
            f"{_lost(whole['lost_hours'])} lost"
        )
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("cause")
    table.add_column("runs", justify="right")
    table.add_column("lost", justify="right")
    for cause in whole["causes"]:
        lost = _lost(cause["lost_hours"]) if cause["severity"] != "info" else "-"
        name = Text(cause["id"], style=STYLES[cause["severity"]])
        table.add_row(name, f"{cause['runs']:,}", lost)
    console.print()
    console.print(table)
    if whole["repeated"]:
        console.print()
        console.print(Text("Again and again", style="bold"))
    for again in whole["repeated"]:
        console.print(
            f"  {again['program']}: {again['id']} in {again['runs']:,} runs, "
            f"{_lost(again['lost_hours'])} lost"
        )


def _lost(hours: float) -> str:
    return duration(3_600 * hours)
