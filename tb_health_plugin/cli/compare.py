"""`tb-health compare`: where two runs part, to read or to parse."""

import argparse
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tb_health_plugin.cli.arguments import place
from tb_health_plugin.cli.printing import WIDEST, console, print_json, section
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.comparing.alignment import ALIGNS
from tb_health_plugin.events.attempt import is_remote
from tb_health_plugin.reading.opening import (
    NothingRecorded,
    check_directory,
    open_library,
    why_nothing,
)
from tb_health_plugin.server.comparison import compare_runs
from tb_health_plugin.server.payloads import ComparisonPayload, RunRow
from tb_health_plugin.server.view import View


class NothingToCompare(LookupError):
    """There is no second run. The message says what to do."""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="where a run parts from a healthy one, or from any other",
        usage="tb-health compare (LOGDIR A [B] | A B) [options]",
    )
    parser.add_argument(
        "logdir", type=place, help="the directory TensorBoard reads, or that of run A"
    )
    parser.add_argument(
        "a", metavar="A", help="name of the run under question, or directory of run B"
    )
    parser.add_argument(
        "b",
        metavar="B",
        nargs="?",
        help="name of the other run (default: a healthy one)",
    )
    parser.add_argument(
        "--align",
        choices=ALIGNS,
        default="step",
        help="match samples by step (default), time since the start, epoch, or time "
        "before the end",
    )
    parser.add_argument(
        "--json", action="store_true", help="print what GET /compare answers"
    )
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    logdir, a, b = named(options.logdir, options.a, options.b)
    return int(compare(logdir, a, b, options.align, as_json=options.json))


def named(
    logdir: Path | str, a: str, b: str | None
) -> tuple[Path | str, str, str | None]:
    """A log directory and two names in it, also where directories were given."""
    if is_remote(logdir):
        return logdir, a, b
    inside, other = _whole(check_directory(logdir)), _whole(a)
    if b is None and other.is_dir() and not other.is_relative_to(inside):
        above = Path(os.path.commonpath([inside, other]))
        return above, _relative(inside, above), _relative(other, above)
    return logdir, _name_in(inside, a), _name_in(inside, b) if b else None


def _name_in(logdir: Path, given: str) -> str:
    """The name of a run, of which the directory may have been given."""
    path = _whole(given)
    is_name = (logdir / given).is_dir() or not path.is_dir()
    if is_name or not path.is_relative_to(logdir):
        return given
    return _relative(path, logdir)


def _whole(path: Path | str) -> Path:
    # Links stay as they are: a run is called by the name of its link.
    return Path(os.path.abspath(path))


def _relative(path: Path, above: Path) -> str:
    return path.relative_to(above).as_posix()


def compare(
    logdir: Path | str, a: str, b: str | None, align: str, *, as_json: bool
) -> bool:
    """Prints the comparison; true if the runs differ.

    Raises:
        NotADirectoryError: There is no such directory.
        NothingRecorded: There is no such run in it.
        NothingToCompare: There is no healthy run to compare with.
    """
    with waiting(f"Reading {logdir}") as tick:
        library = open_library(logdir, tick)
        for name in (a, b):
            if name is not None and library.run(name) is None:
                raise NothingRecorded(why_nothing(library, name))
        view = View(library)
        view.refresh()
        answer = compare_runs(view, a, b, align)
    if answer["clocks"] is None:
        raise NothingToCompare(f"{answer['headline']} {answer['summary']}")
    if as_json:
        print_json(_cleansed(answer))
    else:
        show(answer, console())
    return answer["first"] is not None


def show(answer: ComparisonPayload, console: Console) -> None:
    """Prints a comparison for people."""
    console.width = min(console.width, WIDEST)
    console.print(Text(f"A  {_name(answer['a'])}", style="dim"))
    if answer["b"]:
        console.print(Text(f"B  {_name(answer['b'])}", style="dim"))
    if answer["picked"]:
        console.print(Text(f"   {answer['picked']}", style="dim"))
    console.print()
    console.print(Text(answer["headline"], style="bold"))
    for sentence in (answer["summary"], answer["note"]):
        if sentence:
            console.print(Text(sentence))
    section(console, "What differs, first to last", _differing(answer))
    alike = [one["title"] for one in answer["signals"] if one["kind"] == "alike"]
    section(console, "Alike", [", ".join(alike)] if alike else [])
    section(console, "Settings that differ", _settings(answer))
    tip = answer["try_first"]
    if tip:
        section(console, "Try this first", [f"{tip['setting']}. {tip['why']}"])


def _name(row: RunRow) -> str:
    return f"{row['name']} · {row['chip']}"


def _differing(answer: ComparisonPayload) -> Iterator[str]:
    for one in answer["signals"]:
        if one["begins"] is not None:
            since = "the start" if one["from_start"] else one["from"]
            yield (
                f"{one['title']}, from {since}: {one['what']}. "
                f"A: {one['a']}. B: {one['b']}."
            )


def _settings(answer: ComparisonPayload) -> Iterator[str]:
    for one in answer["settings"]:
        a, b = one["a"] or "not seen", one["b"] or "not seen"
        yield f"{one['name']}: {a} in A, {b} in B"


def _cleansed(value: Any) -> Any:
    """JSON has no word for NaN: the strings of `http_api.md` stand for it."""
    if isinstance(value, dict):
        return {key: _cleansed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_cleansed(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    return value
