"""The page that is served is the one that its source builds, and it is small."""

import gzip
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "tb_health_plugin" / "server" / "static"
NPM = str(ROOT / ".ci" / "npm")
# A page that opens at once even over a slow tunnel to a training machine.
MOST_GZIPPED_BYTES = 120_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, built anew."""
    out: Path = tmp_path_factory.mktemp("static")
    if not (ROOT / "frontend" / "node_modules").is_dir():
        subprocess.run([NPM, "ci", "--no-audit", "--no-fund"], check=True)
    build = [NPM, "run", "build", "--", "--outDir", str(out), "--emptyOutDir"]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_the_committed_page_is_what_its_source_builds(built: Path) -> None:
    expected, committed = contents(built), contents(STATIC)

    assert committed.keys() == expected.keys()
    stale = [name for name in expected if committed[name] != expected[name]]
    assert stale == [], "run `make frontend` and commit what it wrote"


def test_the_whole_page_is_small(built: Path) -> None:
    packed = {name: len(gzip.compress(data)) for name, data in contents(built).items()}

    assert "index.js" in packed
    assert sum(packed.values()) <= MOST_GZIPPED_BYTES
