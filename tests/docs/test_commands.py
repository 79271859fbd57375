"""Every command of README and docs is run, on recorded runs and in a real shell."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, main
from tests.docs.pages import ROOT, blocks, commands, inline_commands
from tests.docs.reader import STAND_INS, run_in_shell

# They take minutes, or never end, and are run elsewhere.
ELSEWHERE = {
    "tensorboard": "test_quickstart.py",
    "make": "read by make itself, below; tests/end_to_end/test_demo.py, tests/torture",
    "pip": "test_quickstart.py; what it names is checked below",
}
ALL = commands()


def program_of(command: str) -> str:
    return shlex.split(command, comments=True)[0]


RUN_HERE = [pair for pair in ALL if program_of(pair[1]) not in ELSEWHERE]


@pytest.mark.parametrize(("where", "command"), RUN_HERE, ids=[w for w, _ in RUN_HERE])
def test_a_command_works_as_it_stands(where, command, place: Path, monkeypatch):
    words = shlex.split(command, comments=True)
    if words[0] == "tb-health" and words[1] != "run" and not set("|&<>") & set(command):
        monkeypatch.chdir(place)
        status = main(words[1:])
    else:
        status = run_in_shell(command, place)

    assert status in (HEALTHY, PROBLEM_FOUND)


def test_make_knows_what_to_do():
    named = {words for _, words in ALL if program_of(words) == "make"}
    named |= {words for _, words in inline_commands("make")}

    assert len(named) > 5
    for command in sorted(named):
        words = ["make", "-n", *shlex.split(command)[1:]]
        subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_what_is_to_be_installed_can_be():
    metadata = (ROOT / "setup.py").read_text()
    (extras,) = re.findall(r"extras_require=\{(.*?)\n    \}", metadata, re.DOTALL)
    named = [words for _, words in ALL if program_of(words) == "pip"]
    named += [words for _, words in inline_commands("pip") if " -" not in words]

    assert named
    for command in named:
        for package in shlex.split(command)[2:]:
            name, _, extra = package.rstrip("]").partition("[")
            assert name in ("tensorboard-plugin-health", "tensorflow")
            assert not extra or f'"{extra}"' in extras


def test_tensorboard_is_started_as_everybody_does():
    named = {words for _, words in ALL if program_of(words) == "tensorboard"}

    assert named == {"tensorboard --logdir logs"}


def test_what_is_not_run_here_is_named():
    assert {program_of(words) for _, words in ALL} - set(ELSEWHERE) <= {
        "tb-health",
        "python",
        "source",
        *STAND_INS,
    }


@pytest.mark.parametrize("name", ["python", "sh"])
def test_there_is_something_to_run(name: str):
    assert len(blocks(name)) >= 5


def test_python_blocks_can_be_read():
    for block in blocks("python"):
        ast.parse(block.code, str(block))
