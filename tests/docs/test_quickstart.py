"""The quickstart, as a newcomer does it: from `pip install` to the tab."""

import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from demo.tensorboard_server import tensorboard, wait_until
from tests import wheel
from tests.docs.pages import ROOT, blocks, commands
from tests.docs.test_recipes import instructions

pytestmark = pytest.mark.live

PAGE = ROOT / "docs/quickstart.md"


@dataclass
class Newcomer:
    """Somebody with an empty folder and a new environment, and what they saw.

    Attributes:
        seen: What each command printed, and its exit status.
    """

    folder: Path
    programs: Path
    settings: dict[str, str]
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)

    def type(self, command: str) -> None:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.seen[command] = (done.stdout, done.returncode)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Somebody who typed all of the page, up to TensorBoard."""
    folder = tmp_path_factory.mktemp("newcomer")
    built = wheel.build(folder)
    programs = wheel.environment(folder, with_our_needs=True)
    made = Newcomer(folder / "work", programs, wheel.settings(programs, built))
    made.folder.mkdir()
    (program,) = (block for block in blocks("python") if block.page == PAGE)
    (made.folder / "broken.py").write_text(program.code)
    for place, command in commands():
        on_page = place.startswith("docs/quickstart.md:")
        if on_page and not command.startswith("tensorboard "):
            made.type(command)
    return made


def test_each_command_does_what_the_page_says(newcomer: Newcomer):
    for command, (printed, status) in newcomer.seen.items():
        expected = 1 if command.startswith("tb-health why") else 0
        assert status == expected, f"{command}\n{printed}"


def test_the_verdict_is_the_one_on_the_page(newcomer: Newcomer):
    shown = PAGE.read_text().partition("```text\n")[2].splitlines()[:2]

    printed, _ = newcomer.seen["tb-health why logs"]
    assert printed.splitlines()[:2] == shown


def test_tensorboard_shows_the_tab_and_the_run(newcomer: Newcomer):
    named = {words for _, words in commands() if words.startswith("tensorboard ")}
    (command,) = named

    with tensorboard(
        shlex.split(command)[1:],
        python=str(newcomer.programs / "python"),
        cwd=newcomer.folder,
        env=wheel.NO_OTHER_PACKAGE,
    ) as server:
        (run,) = wait_until(lambda: server.json("/data/plugin/health/runs")["runs"])
        tabs = server.json("/data/plugins_listing")

    assert run["name"] == "broken"
    assert tabs["health"]["tab_name"] == "Training Health"


def test_what_the_image_installs_can_be_installed(newcomer: Newcomer):
    (block,) = blocks("dockerfile")
    command = instructions(block)["RUN"]

    newcomer.type(command)

    assert newcomer.seen[command][1] == 0, newcomer.seen[command][0]


def test_nothing_but_the_wheel_was_used(newcomer: Newcomer):
    where = "import tb_health_plugin; print(tb_health_plugin.__file__)"
    newcomer.type(f'python -c "{where}"')

    printed, _ = newcomer.seen[f'python -c "{where}"']
    assert printed.startswith(os.fspath(newcomer.folder.parent / "environment"))
