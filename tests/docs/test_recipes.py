"""What a container would run is run, where there is no container."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tb_health_plugin import diagnose
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.reader import run_in_shell

MOUNTED = "/logs"
# What is said of the program that stands for a training here.
ENDED = "The program ended without a training"


def started(words: str, place: Path, name: str) -> Path:
    """Runs what a container starts; the volume is a folder."""
    volume = place / name
    command = shlex.join(json.loads(words)).replace(MOUNTED, str(volume))

    assert run_in_shell(command, place) == 0

    return volume


def recorded(volume: Path) -> str:
    return str(diagnose(volume)["headline"])


def instructions(block: Block) -> dict[str, str]:
    """What a Dockerfile says, by the word that a line begins with."""
    lines = [line.partition(" ") for line in block.code.splitlines()]
    return {word: rest for word, _, rest in lines}


def test_what_kubernetes_starts(place: Path):
    (block,) = blocks("yaml")
    (command,) = re.findall(r"command: (\[.*\])", block.code)

    assert f"mountPath: {MOUNTED}}}" in block.code
    assert recorded(started(command, place, "pod")) == ENDED


def test_what_docker_starts(place: Path):
    (block,) = blocks("dockerfile")
    told = instructions(block)

    assert list(told) == ["FROM", "RUN", "COPY", "CMD"]
    assert (place / told["COPY"].split()[0]).exists()
    assert f'-v "$PWD/logs:{MOUNTED}"' in block.page.read_text()
    assert recorded(started(told["CMD"], place, "image")) == ENDED


def test_a_job_script_is_run_as_a_whole(place: Path):
    (block,) = (b for b in blocks("sh") if b.code.startswith("#!"))

    assert run_in_shell(block.code, place) == 0
    assert recorded(place / "logs/7") == ENDED


@pytest.mark.parametrize("name", ["Slurm", "Kubernetes", "Docker", "Colab", "CI"])
def test_there_is_a_recipe_for(name: str):
    page = (ROOT / "docs/recipes.md").read_text()

    assert re.search(f"^## .*{name}.*\n\n", page, re.MULTILINE)
