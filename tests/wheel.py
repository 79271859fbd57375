"""Builds the wheel, and environments into which a user installs it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ("tb_health_plugin", "setup.py", "pyproject.toml", "README.md", "LICENSE")
# Only what is installed may be found, wherever the tests themselves look.
NO_OTHER_PACKAGE = {"PYTHONPATH": ""}
_OURS = ("tensorboard_plugin_health", "__editable__")


def build(folder: Path) -> Path:
    """The wheel, built in `folder` by somebody who has no Node."""
    source, nothing = folder / "source", folder / "nothing"
    source.mkdir()
    nothing.mkdir()
    # Building writes into the source tree, so it gets one of its own.
    for name in SOURCE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "-o", str(folder), str(source)],
        check=True,
        env={**os.environ, "PATH": str(nothing)},
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, *, with_our_needs: bool = False) -> Path:
    """The programs of a new environment.

    Args:
        folder: Where to make it.
        with_our_needs: It sees what the tests have installed, TensorFlow too, but not
            the product itself. Installing that anew would take minutes.
    """
    made = folder / "environment"
    venv.create(made, with_pip=True)
    if with_our_needs:
        seen = folder / "packages"
        seen.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if not path.name.lower().startswith(_OURS):
                (seen / path.name).symlink_to(path)
        (packages,) = made.glob("lib/python*/site-packages")
        (packages / "needs.pth").write_text(f"{seen}\n")
    return made / "bin"


def settings(programs: Path, wheel: Path) -> dict[str, str]:
    """The variables of a shell in that environment, which can install the wheel."""
    return {
        **os.environ,
        **NO_OTHER_PACKAGE,
        "PATH": f"{programs}:/usr/bin:/bin",
        "PIP_FIND_LINKS": f"{wheel.parent} {os.environ.get('PIP_FIND_LINKS', '')}",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
