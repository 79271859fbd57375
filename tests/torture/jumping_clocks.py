"""Sets the clock of the day forward and back while a training records."""

import functools
import mmap
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.torture.chamber import Broken, Chamber
from tests.torture.victim import Victim, victim

SOURCE = Path(__file__).with_name("shifted_clock.c")
# A second of a time server, an hour of a wrong time zone, days of an empty battery,
# and the year 1970.
JUMPS = (-1, 1, -30, 30, -3_600, 3_600, -86_400 * 30, 86_400 * 365, -1_700_000_000)


@functools.cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Kept for the life of the process."""
    return tempfile.TemporaryDirectory()


@functools.cache
def library() -> Path | None:
    """The clock that can be set, built once; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    built = Path(_folder().name) / "shifted_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE)]
    subprocess.run(command, check=True)
    return built


def _python(folder: Path, shifted: Path, clock: Path) -> Path:
    """A Python under that clock. The watcher gets nothing of our environment."""
    script = folder / "python"
    script.write_text(
        "#!/bin/sh\n"
        f"export LD_PRELOAD='{shifted}' TB_HEALTH_TEST_CLOCK='{clock}'\n"
        f"exec '{sys.executable}' \"$@\"\n"
    )
    script.chmod(0o755)
    return script


def torture(rng: random.Random, counts: Counter[str]) -> None:
    shifted = library()
    if shifted is None:
        counts["skipped: there is no C compiler"] += 1
        return
    with tempfile.TemporaryDirectory() as folder:
        clock = Path(folder) / "clock"
        clock.write_bytes(bytes(8))
        env = {"TB_HEALTH_TEST_PYTHON": str(_python(Path(folder), shifted, clock))}
        with clock.open("r+b") as file, mmap.mmap(file.fileno(), 8) as mapped:
            offset = 0
            with victim(env=env) as one:
                for _ in range(rng.randrange(1, 6)):
                    one.live_for(rng, 0.4)
                    offset = max(offset + rng.choice(JUMPS), -1_700_000_000)
                    mapped[:] = struct.pack("<q", offset)
                    counts["jumps"] += 1
                one.must_finish_well()
                _check(one)


def _check(one: Victim) -> None:
    one.end_recorded()
    known = one.recorded().last_step
    if known < one.said:
        raise Broken(f"step {one.said} was finished, {known} is known")
    verdict = one.story().verdict
    if verdict is not None and verdict.severity != "info":
        raise Broken(f"it ended well, and is called {verdict.headline}")


CHAMBER = Chamber(
    name="clocks",
    promise="a clock that is set costs no step and is no cause of anything",
    round=torture,
)
