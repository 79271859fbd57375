"""What the terminal shows, to the letter: 80 and 120 columns, plain and in colour.

    python -m tests.cli.test_golden      writes the expected output anew

after a change that is meant to be seen. Read the difference before it is committed.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tb_health_plugin import diagnose
from tb_health_plugin.cli import compare, list_runs, report, show, why
from tb_health_plugin.cli.many_runs import judge_all
from tb_health_plugin.diagnosing import find_run, judge_latest
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.comparison import compare_runs
from tb_health_plugin.server.view import View
from tests import runs

GOLDEN = Path(__file__).with_name("golden")
WIDTHS = (80, 120)


def _why(name: str) -> Callable[[Console], None]:
    return lambda console: why.show(diagnose(runs.HERE / name), console)


def _show(name: str) -> Callable[[Console], None]:
    def draw(console: Console) -> None:
        history, told = judge_latest(find_run(runs.HERE / name))
        show.show(history, told.story, console)

    return draw


def _view(*names: str) -> View:
    view = View(Library([Root(runs.HERE / name, name) for name in names]))
    view.refresh()
    return view


def _list(console: Console) -> None:
    list_runs.show(_view("healthy", "killed_outside").runs(), console)


def _compare(console: Console) -> None:
    names = ("killed_outside", "healthy")
    compare.show(compare_runs(_view(*names), *names, "step"), console)


def _report(console: Console) -> None:
    names = ("healthy", "killed_outside", "killed_outside-2")
    report.print_table(judge_all([Root(runs.HERE / name) for name in names]), console)


# Few, and of runs whose words are settled.
PRINTED = {
    "why-killed_outside": _why("killed_outside"),
    "why-healthy": _why("healthy"),
    "show-memory_leak": _show("memory_leak"),
    "list": _list,
    "compare": _compare,
    "report": _report,
}
VARIANTS = [
    (name, width, colour)
    for name in PRINTED
    for width in WIDTHS
    for colour in (False, True)
]


def printed(name: str, width: int, colour: bool) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        _environ={},
    )
    PRINTED[name](console)
    return out.getvalue()


def golden_file(name: str, width: int, colour: bool) -> Path:
    return GOLDEN / f"{name}-{width}{'-colour' if colour else ''}.txt"


@pytest.mark.parametrize(("name", "width", "colour"), VARIANTS)
def test_the_terminal_shows_what_it_showed(name: str, width: int, colour: bool):
    shown = printed(name, width, colour)

    assert shown == golden_file(name, width, colour).read_text(), (
        "If this is meant: python -m tests.cli.test_golden"
    )
    assert ("\x1b[" in shown) is colour


@pytest.mark.parametrize("name", PRINTED)
def test_no_line_is_longer_than_the_terminal(name: str):
    for width in WIDTHS:
        lines = printed(name, width, False).splitlines()
        # Code to be copied is never broken.
        assert [x for x in lines if len(x) > width and not x.startswith("      ")] == []


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, width, colour in VARIANTS:
        golden_file(name, width, colour).write_text(printed(name, width, colour))


if __name__ == "__main__":
    sys.exit(main())
