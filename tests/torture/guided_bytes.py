"""Coverage-guided fuzzing of everything that reads bytes, if there is atheris."""

import importlib.util
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests import runs
from tests.torture.chamber import Broken, Chamber
from tests.torture.damaged_files import files, records_of
from tests.watching.conftest import ROOT

TARGETS = ("framing", "facts", "samples", "head", "rules")
SECONDS = 15
# Of each recorded run so many records; the fuzzer makes the rest.
SEEDS = 40


def torture(rng: random.Random, counts: Counter[str]) -> None:
    if importlib.util.find_spec("atheris") is None:
        counts["skipped: atheris is not installed, see the extra [fuzz]"] += 1
        return
    fuzz(rng.choice(TARGETS), rng, counts, SECONDS)


def fuzz(target: str, rng: random.Random, counts: Counter[str], seconds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(target, rng)):
            Path(folder, str(number)).write_bytes(data)
        program = [sys.executable, "-m", "tests.torture.fuzz", target]
        done = subprocess.run(
            [*program, str(seconds), str(rng.randrange(1, 2**31)), folder],
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    said = done.stderr + done.stdout
    if done.returncode:
        raise Broken(f"{target}: {said[-2_000:]}")
    tried = re.findall(r"number_of_executed_units:\s*(\d+)", said)
    counts[f"{target}: tried"] += sum(map(int, tried))


def seeds(target: str, rng: random.Random) -> list[bytes]:
    contents = files(rng.choice(runs.names()))
    kind = "samples" if target in ("samples", "head") else "records"
    (data,) = [d for name, d in contents.items() if name.startswith(kind)][:1]
    records = records_of(data)[:SEEDS]
    if target == "framing":
        return [data[:4_000]]
    if target == "samples":
        return [b"\xff\x00\xff".join(records[:3])]
    if target == "rules":
        return [b'{"overfitting": "off", "input_bound.warning_share": 0.8}']
    return records


CHAMBER = Chamber(
    name="bytes",
    promise="whatever bytes are found to read, reading them ends well",
    round=torture,
    share=2.0,
)
