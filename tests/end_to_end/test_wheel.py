"""What a user installs: the wheel and its dependencies, no TensorFlow and no Node."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
# Only what is installed may be found, wherever the tests themselves look.
NO_OTHER_PACKAGE = {"PYTHONPATH": ""}
SOURCE = ("tb_health_plugin", "setup.py", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    source = _copy_source(folder)
    _run(folder, sys.executable, "-m", "build", "--wheel", "-o", folder, source)
    (wheel,) = folder.glob("*.whl")
    _run(folder, programs / "python", "-m", "pip", "install", "-q", wheel)
    return programs


def _copy_source(folder: Path) -> Path:
    """Building writes into the source tree, so it gets one of its own."""
    source = folder / "source"
    source.mkdir()
    for name in SOURCE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    return source


def _run(folder: Path, *command: object) -> None:
    """Runs a command that finds no Node, nor any other program, on its path."""
    nothing = folder / "nothing"
    nothing.mkdir(exist_ok=True)
    subprocess.run(
        list(map(str, command)),
        check=True,
        env={**os.environ, "PATH": str(nothing)},
        stdout=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def wheel_server(installed: Path, recorded_runs: Path) -> Iterator[TensorBoardServer]:
    """TensorBoard, from where the wheel is installed."""
    arguments = ["--logdir", str(recorded_runs), "--reload_interval=1"]
    python = str(installed / "python")
    # Elsewhere, because Python prefers the package in the current directory.
    with tensorboard(
        arguments, python=python, cwd=recorded_runs, env=NO_OTHER_PACKAGE
    ) as server:
        yield server


def run_installed(program: Path, *arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        check=False,
        cwd=program.parent,
        env={**os.environ, **NO_OTHER_PACKAGE},
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stdout.strip()


def test_the_wheel_holds_the_package_and_brings_no_tensorflow(installed: Path) -> None:
    where = "import importlib.util as u; print(u.find_spec('{}'))"
    python = installed / "python"

    _, ours = run_installed(python, "-c", where.format("tb_health_plugin"))
    _, tensorflow = run_installed(python, "-c", where.format("tensorflow"))

    assert str(installed.parent) in ours
    assert tensorflow == "None"


def test_tensorboard_without_tensorflow_answers(
    wheel_server: TensorBoardServer,
) -> None:
    runs = wait_until(lambda: wheel_server.json("/data/plugin/health/runs")["runs"])

    assert {run["name"]: run["state"] for run in runs} == {
        "finished": "finished",
        "killed": "died",
    }


@pytest.mark.browser
def test_the_tab_opens_from_the_wheel(
    wheel_server: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{wheel_server.url}/#health")

    page.health.get_by_role("link", name="finished").first.wait_for()
    page.settle()
    assert page.complaints == []


def test_the_command_lists_every_run_and_says_that_one_is_bad(
    installed: Path, recorded_runs: Path
) -> None:
    status, printed = run_installed(installed / "tb-health", "list", recorded_runs)

    assert status == 1
    finished, killed = printed.splitlines()
    assert finished == "finished: Finished as planned at step 200"
    assert killed == "killed: [critical] Killed from outside (SIGKILL) at step 80"


def test_the_command_is_content_when_all_runs_are_well(
    installed: Path, recorded_runs: Path
) -> None:
    status, _ = run_installed(
        installed / "tb-health", "list", recorded_runs / "finished"
    )

    assert status == 0
