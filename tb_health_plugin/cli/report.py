"""`tb-health report`: one or many runs as a page, a table or data to go on with."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tb_health_plugin.cli.arguments import place
from tb_health_plugin.cli.engines import Engine, on_all_cores, on_ray
from tb_health_plugin.cli.many_runs import Judged, judge_all
from tb_health_plugin.cli.markdown import markdown
from tb_health_plugin.cli.overview import is_problem, overview
from tb_health_plugin.cli.printing import STYLES, console
from tb_health_plugin.cli.rows import (
    causes_csv,
    causes_json_lines,
    csv_text,
    json_lines,
    json_text,
)
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.opening import NothingRecorded, open_root, recorded_run
from tb_health_plugin.server.report_page import MOST_RUNS, report_of
from tb_health_plugin.server.view import View

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
    parser.add_argument("logdirs", type=place, nargs="+", metavar="LOGDIR")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument(
        "--run", action="append", help="only this run; may be given several times"
    )
    parser.add_argument(
        "--causes",
        action="store_true",
        help="write causes and what fails again, not a line per run (.csv, .jsonl)",
    )
    parser.add_argument(
        "--ray",
        action="store_true",
        help="judge the runs on a Ray cluster (RAY_ADDRESS, else one on this machine); "
        "all of it must see the same directories",
    )
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    file: Path | None = options.output
    kind = file.suffix.lower() if file else ""
    if file and kind not in (_PAGE, *_FORMATS):
        known = ", ".join((_PAGE, *_FORMATS))
        raise CannotWrite(f"{file} must end in one of {known}")
    if options.causes and kind not in _TOGETHER:
        known = " or ".join(_TOGETHER)
        raise CannotWrite(f"--causes needs -o with a file that ends in {known}")
    roots = [open_root(logdir) for logdir in options.logdirs]
    judged = _judge(roots, options.run, on_ray if options.ray else on_all_cores)
    if file is None:
        print_table(judged, console(widest=None))
    elif kind == _PAGE:
        _write(file, _html(roots, judged))
    else:
        formats = _TOGETHER if options.causes else _FORMATS
        _write(file, formats[kind](judged))
    return int(any(map(is_problem, judged)))


def _judge(
    roots: Sequence[Root], names: Sequence[str] | None, engine: Engine
) -> list[Judged]:
    with waiting("Judging runs") as tick:
        judged = judge_all(roots, tick, engine=engine)
    if names:
        judged = [one for one in judged if one.answer["run"] in names]
    if not judged:
        for root in roots:
            library = Library([root])
            library.refresh()
            # Raises with what there is instead.
            recorded_run(library, names[0] if names else None)
        raise NothingRecorded("No run with health data was found")
    return judged


def _html(roots: Sequence[Root], judged: Sequence[Judged]) -> str:
    if len(roots) != 1:
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
        view = View(Library(roots))
        view.refresh()
        return report_of(view, runs)


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
    said = Console(stderr=True, highlight=False)
    said.print(f"{file}: {size:,.0f} KiB", soft_wrap=True)


_FORMATS: dict[str, Callable[[Sequence[Judged]], str]] = {
    ".md": markdown,
    ".json": json_text,
    ".jsonl": json_lines,
    ".csv": csv_text,
}
# Of all runs together.
_TOGETHER: dict[str, Callable[[Sequence[Judged]], str]] = {
    ".jsonl": causes_json_lines,
    ".csv": causes_csv,
}


def print_table(judged: Sequence[Judged], console: Console) -> None:
    """Causes, hours lost to them, and what failed again."""
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
        of = f"{_OF[again['by']]}{again['name']}"
        console.print(
            Text(
                f"  {of}: {again['id']} in {again['runs']:,} runs, "
                f"{_lost(again['lost_hours'])} lost"
            )
        )


# What kind of thing a name is, where that is not plain.
_OF = {"program": "", "line": "", "host": "host ", "dataset": "data "}


def _lost(hours: float) -> str:
    return duration(3_600 * hours)
