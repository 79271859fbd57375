"""`make compat`: the wheel in a fresh environment of every cell, then a table.

Each environment is removed before the next one is made: with TensorFlow it takes more
than a gigabyte. The tests run from a copy without our package beside them, so that
only what the wheel holds can be found.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.compat.cells import CELLS, Cell, floors

ROOT = Path(__file__).parents[2]
# What the chosen tests import beside the product.
TOOLS = (
    "pytest>=8.3",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "nvidia-ml-py>=12.535",
    # TensorBoard before 2.20 imports a part of it that later ones lost.
    "setuptools<81",
)
SHOWN = ("tensorboard", "tensorflow", "keras", "protobuf", "numpy")
NOT_FOR_USERS = "test_the_committed_descriptor_is_current"
NEEDED_BY_TESTS = ("tests", "demo", "docs", "pyproject.toml", "README.md")


@dataclass
class Outcome:
    """What came of one cell."""

    cell: Cell
    result: str
    tests: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def row(self) -> str:
        shown = " | ".join(self.versions.get(name, "-") for name in SHOWN)
        return (
            f"| {self.cell.name} | {self.versions.get('python', self.cell.python)} "
            f"| {shown} | {self.tests} | {self.result} | {self.seconds:.0f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make compat", description=__doc__)
    parser.add_argument("--only", default="", help="cells with this in their name")
    options = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        tests = copy_tests(Path(folder))
        for cell in CELLS:
            if options.only not in cell.name:
                continue
            print(f"# {cell.name}", flush=True)
            outcomes.append(try_cell(cell, wheel, tests, Path(folder) / "environment"))
            print(outcomes[-1].row, flush=True)
    print(f"\n{table(outcomes)}")
    return 0 if all(one.result == "passed" for one in outcomes) else 1


def table(outcomes: Sequence[Outcome]) -> str:
    head = f"| versions | Python | {' | '.join(SHOWN)} | tests | result | seconds |"
    rule = "| --- " * (len(SHOWN) + 5) + "|"
    return "\n".join([head, rule, *(one.row for one in outcomes)])


def build_wheel(folder: Path) -> Path:
    """Builds from a copy, because building writes into the source tree."""
    source = folder / "source"
    names = ("tb_health_plugin", "setup.py", "pyproject.toml", "README.md", "LICENSE")
    copy(names, source)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "-o", str(folder), str(source)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def copy_tests(folder: Path) -> Path:
    return copy(NEEDED_BY_TESTS, folder / "tests_alone")


def copy(names: Sequence[str], target: Path) -> Path:
    target.mkdir()
    for name in names:
        source = ROOT / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "out")
            shutil.copytree(source, target / name, ignore=unwanted)
        else:
            shutil.copy(source, target / name)
    return target


def try_cell(cell: Cell, wheel: Path, tests: Path, environment: Path) -> Outcome:
    python = find_python(cell.python)
    if python is None:
        return Outcome(cell, f"not run: no Python {cell.python} here")
    began = time.monotonic()
    try:
        return _in_environment(cell, wheel, tests, environment, python, began)
    finally:
        shutil.rmtree(environment, ignore_errors=True)


def _in_environment(
    cell: Cell, wheel: Path, tests: Path, environment: Path, python: str, began: float
) -> Outcome:
    subprocess.run(
        [python, "-m", "venv", "--without-pip", str(environment)], check=True
    )
    programs = environment / "bin"
    pins = [*cell.pins, *(floors(_requires(wheel)) if cell.floors else ())]
    # Our own pip, which is newer than what an old Python brings and resolves faster.
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    installed = _run([*pip, "install", "-q", str(wheel), *pins, *TOOLS], tests)
    if installed.returncode:
        print(installed.stdout)
        return Outcome(cell, "cannot be installed", seconds=time.monotonic() - began)
    # Warnings of other packages differ from version to version.
    options = ["-q", "-m", "not browser", "-o", "filterwarnings=default"]
    # What compiles the descriptor is no concern of a user.
    options += ["--deselect", "tests/events/test_messages.py::" + NOT_FOR_USERS]
    # Needs an object store on this machine, and all that plays one.
    options += ["--ignore", "tests/reading/test_remote_directory.py"]
    done = _run(
        [str(programs / "python"), "-m", "pytest", *options, *cell.tests], tests
    )
    if done.returncode:
        print(done.stdout)
    return Outcome(
        cell,
        "passed" if done.returncode == 0 else "FAILED",
        tests=_counts(done.stdout),
        versions=_versions(programs / "python"),
        seconds=time.monotonic() - began,
    )


def _counts(printed: str) -> str:
    """What pytest's last line says."""
    last = printed.strip().rpartition("\n")[2]
    return ", ".join(re.findall(r"\d+ (?:passed|failed|skipped|errors?)", last))


def _run(command: Sequence[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    programs = Path(command[0]).parent
    path = f"{programs}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path, "TF_CPP_MIN_LOG_LEVEL": "2"},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _versions(python: Path) -> dict[str, str]:
    code = (
        "import json, platform; from importlib import metadata as m;"
        f"names = {SHOWN!r};"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()};"
        "found = {n: have[n] for n in names if n in have};"
        "print(json.dumps({'python': platform.python_version(), **found}))"
    )
    done = subprocess.run(
        [str(python), "-c", code], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def _requires(wheel: Path) -> list[str]:
    """What the wheel says it needs."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
    return re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)


def find_python(version: str) -> str | None:
    """A Python of this version: on the path, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(found))):
        if candidate and _is(candidate, version):
            return candidate
    return None


def _is(python: str, version: str) -> bool:
    """A shim of pyenv is on the path also where its Python is not."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(
        [python, "-c", code], check=False, capture_output=True, text=True
    )
    return done.stdout.strip() == version


if __name__ == "__main__":
    sys.exit(main())
