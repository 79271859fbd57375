"""Every command of README and docs is run, on recorded runs and in a real shell."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, main
from tests import runs
from tests.docs.pages import ROOT, commands

RECORDED = {
    "healthy": "healthy",
    "crashed": "lr_too_high",
    "run1": "memory_leak",
}
# Started by somebody else's program, which does what it is known for.
STAND_INS = {"srun": 'exec "$@"'}
# They take minutes, or never end, and have tests of their own.
ELSEWHERE = {
    "tensorboard": "tests/end_to_end",
    "make": "the Makefile, checked below",
    "pip": "setup.py, checked below",
    "git": "no program of ours",
}
PROGRAM = 'import sys\nprint("trained", *sys.argv[1:])\n'
ALL = commands()


def program_of(command: str) -> str:
    return shlex.split(command, comments=True)[0]


RUN_HERE = [pair for pair in ALL if program_of(pair[1]) not in ELSEWHERE]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: recorded runs, and a program."""
    folder = tmp_path_factory.mktemp("place")
    for name, recorded in RECORDED.items():
        shutil.copytree(runs.HERE / recorded, folder / "logs" / name)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "broken.py").write_text(PROGRAM)
    programs = folder / "bin"
    programs.mkdir()
    for name, script in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return folder


def run_in_shell(command: str, place: Path) -> int:
    beside = Path(sys.executable).parent
    path = f"{place / 'bin'}:{beside}:{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "SLURM_JOB_ID": "7",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=place, env=environment, check=False
    ).returncode


@pytest.mark.parametrize(("where", "command"), RUN_HERE, ids=[w for w, _ in RUN_HERE])
def test_a_command_works_as_it_stands(where, command, place: Path, monkeypatch):
    words = shlex.split(command, comments=True)
    if words[0] == "tb-health" and words[1] != "run" and not set("|&<>") & set(command):
        monkeypatch.chdir(place)
        status = main(words[1:])
    else:
        status = run_in_shell(command, place)

    assert status in (HEALTHY, PROBLEM_FOUND)


def test_targets_of_make_are_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [words.split()[1] for _, words in ALL if program_of(words) == "make"]

    assert named
    assert set(named) <= set(targets)


def test_what_is_to_be_installed_can_be():
    metadata = (ROOT / "setup.py").read_text()
    (extras,) = re.findall(r"extras_require=\{(.*?)\n    \}", metadata, re.DOTALL)
    named = [words for _, words in ALL if program_of(words) == "pip"]

    assert named
    for command in named:
        for package in shlex.split(command)[2:]:
            name, _, extra = package.rstrip("]").partition("[")
            assert name in ("tensorboard-plugin-health", "tensorflow")
            assert not extra or f'"{extra}"' in extras


def test_tensorboard_is_started_as_everybody_does():
    named = {words for _, words in ALL if program_of(words) == "tensorboard"}

    assert named == {"tensorboard --logdir logs"}


def test_what_is_not_run_here_is_named(place: Path):
    assert {program_of(words) for _, words in ALL} - set(ELSEWHERE) <= {
        "tb-health",
        "python",
        "source",
        *STAND_INS,
    }


@pytest.mark.parametrize("name", ["python", "sh"])
def test_there_is_something_to_run(name: str):
    from tests.docs.pages import blocks

    assert len(blocks(name)) >= 5


def test_python_blocks_can_be_read():
    from tests.docs.pages import blocks

    for block in blocks("python"):
        ast.parse(block.code, str(block))
