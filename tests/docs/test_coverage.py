"""No snippet escapes: what is written in README and docs is tried by some test."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from tb_health_plugin.cli import run
from tb_health_plugin.cli.main import parser
from tb_health_plugin.diagnosis.rule_pages import pages as rule_pages
from tests.docs.pages import PAGES, ROOT, blocks, fences, inline_commands

# Every language in which there are snippets, and what tries them.
TRIED_BY = {
    "sh": "test_commands.py",
    "python": "test_snippets.py",
    "ipython": "../end_to_end/test_jupyter.py",
    "yaml": "test_recipes.py",
    "dockerfile": "test_recipes.py",
    "json": "test_coverage.py",
    "text": "test_quickstart.py",
}
# Drawings, and nothing to type.
DRAWINGS = {"docs/architecture.md": 1, "docs/event_format.md": 1, "CONTRIBUTING.md": 1}
# Stands for something that the reader fills in.
FILLED_IN_BY_READER = re.compile(
    r"\b(NAME|CAUSE|DIR|N|RUN|LOGDIR|FILE|RULE)\b|…|\.\.\.|<\w+>"
)


def test_every_block_is_in_a_language_that_is_tried():
    drawings: dict[str, int] = {}
    for block in blocks():
        if block.language:
            assert block.language in TRIED_BY, f"{block}: no test runs this"
        else:
            page = str(block.page.relative_to(ROOT))
            drawings[page] = drawings.get(page, 0) + 1

    assert drawings == DRAWINGS
    for test in TRIED_BY.values():
        assert (Path(__file__).parent / test).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_hides_from_the_tests(page: Path):
    seen = [block for block in blocks() if block.page == page]

    assert fences(page) == 2 * len(seen)


def test_text_is_compared_or_needs_what_is_not_here():
    pages = [str(block.page.relative_to(ROOT)) for block in blocks("text")]
    # A bucket and a cluster stand in those of the second; here they are only parsed.
    assert pages == ["docs/quickstart.md", *["docs/workers.md"] * 3]

    for block in blocks("text"):
        for line in block.code.splitlines():
            if line.startswith("tb-health "):
                parser().parse_args(shlex.split(line, comments=True)[1:])


def test_the_line_for_reactions_is_what_they_get():
    (block,) = blocks("json")
    line = json.loads(block.code)

    code = (ROOT / "tb_health_plugin/reacting.py").read_text()
    assert set(line) == set(re.findall(r'^ +"(\w+)": ', code, re.MULTILINE))
    assert line["finding"]["id"] in rule_pages()


@pytest.mark.parametrize(("page", "command"), inline_commands("tb-health"))
def test_commands_in_the_text_can_be_typed(page: str, command: str):
    if FILLED_IN_BY_READER.search(command):
        command = FILLED_IN_BY_READER.sub("1", command)
    words = shlex.split(command)[1:]
    if words[0] == "run":
        own, _ = run.split(words[1:])
        words = ["run", *own]

    parser().parse_args(words)


@pytest.mark.parametrize(("page", "command"), inline_commands("python"))
def test_modules_in_the_text_are_there(page: str, command: str):
    words = shlex.split(command)
    assert words[1] == "-m"

    assert importlib.util.find_spec(words[2]) is not None
