"""`make demo HEADLESS=1` shows everything by itself, and the second time faster."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.browser]

ROOT = Path(__file__).parents[2]
# One that ends well, and the one that needs most around it. `make demo` has them all.
NAMES = ("host_oom", "healthy")


def run_demo(out: Path) -> str:
    """What it prints. Fails if the demo does, as it does where a verdict is wrong."""
    return subprocess.run(
        [sys.executable, "-m", "demo", *NAMES, "--headless", "--out", str(out)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a demo has run."""
    folder: Path = tmp_path_factory.mktemp("demo")
    assert "recorded earlier" not in run_demo(folder)
    return folder


def test_the_demo_leaves_pictures_of_both_views(out: Path) -> None:
    pictures = sorted(out.glob("*.png"))

    assert [picture.name for picture in pictures] == ["run.png", "runs.png"]
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_second_demo_trains_nothing_again_and_says_the_same(out: Path) -> None:
    printed = run_demo(out).replace("\n", " ")

    assert printed.count("(recorded earlier)") == len(NAMES)
    assert "healthy   Finished as planned at step 1,392" in printed
    assert "ok  host_oom" in printed
