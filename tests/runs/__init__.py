"""Recorded real runs, small and without names of people, machines and folders.

Each folder is a log directory (`tb-health why tests/runs/nan_op` reads it) with an
`expected.json` beside the record. `scrub.py` makes them.
"""

import json
from pathlib import Path
from typing import Any

from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt, RunHistory

HERE = Path(__file__).parent
# No process of a recorded run lives, whatever machine the tests run on.
GONE = Life(alive=False, because="It was recorded elsewhere.")


def names() -> list[str]:
    """The folders, in order."""
    return sorted(path.parent.name for path in HERE.glob("*/expected.json"))


def expected(name: str) -> dict[str, Any]:
    return dict(json.loads((HERE / name / "expected.json").read_text()))


def history(name: str) -> RunHistory:
    return find_run(HERE / name)


def attempt(name: str) -> Attempt:
    found = history(name).latest
    assert found is not None
    return found


def healthy_names() -> list[str]:
    return [name for name in names() if expected(name)["healthy"]]
