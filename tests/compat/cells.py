"""Which versions are tried together, and which tests each of them must pass."""

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement

OLDEST, NEWEST = "3.10", "3.13"

# What runs everywhere: format, reading, rules, backend, command line, watcher, and a
# real TensorBoard.
WITHOUT_TENSORFLOW = (
    "tests/events",
    "tests/reading",
    "tests/writing",
    "tests/collectors",
    "tests/comparing",
    "tests/runs/test_recorded_runs.py",
    "tests/server",
    "tests/cli/test_why.py",
    "tests/cli/test_report.py",
    "tests/cli/test_bad_input.py",
    "tests/diagnosis/test_engine.py",
    "tests/diagnosis/test_live.py",
    "tests/diagnosis/test_as_json.py",
    "tests/watching/test_endings.py",
    "tests/end_to_end/test_http.py",
)
# What needs a training: the callback, the summaries, and from `fit` to a real
# TensorBoard with both of its loaders.
WITH_TENSORFLOW = (
    "tests/events",
    "tests/runs/test_recorded_runs.py",
    "tests/test_summary.py",
    "tests/recording/test_keras_callback.py",
    "tests/recording/fitting/test_step_gate_versions.py",
    "tests/watching/test_endings.py",
    "tests/end_to_end/test_training_to_tab.py",
)
# From here on the hook sees inside of a step; before, it says why it does not.
SEES_INSIDE = (
    "tests/recording/fitting/test_inspection.py",
    "tests/recording/fitting/test_data_facts.py",
    "tests/recording/fitting/test_bad_numbers.py",
    "tests/recording/loops/test_watch.py",
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One environment.

    Attributes:
        name: For the table, and for `--only`.
        python: Its Python.
        pins: What pip is told beside the wheel; empty for the newest of everything.
        floors: Every dependency of ours at the oldest version that we allow.
        tests: What must pass.
    """

    name: str
    python: str
    pins: tuple[str, ...] = ()
    floors: bool = False
    tests: tuple[str, ...] = WITHOUT_TENSORFLOW


CELLS = (
    Cell(name="oldest, no TensorFlow", python=OLDEST, floors=True),
    Cell(name="newest, no TensorFlow", python=NEWEST),
    Cell(
        name="oldest TensorFlow and Keras",
        python=OLDEST,
        pins=("tensorflow==2.16.1", "keras==3.0.5", "protobuf==3.20.3", "numpy<2"),
        tests=WITH_TENSORFLOW,
    ),
    Cell(
        name="first Keras seen inside",
        python="3.12",
        pins=("tensorflow==2.18.1", "keras==3.8.0", "protobuf==4.25.9"),
        tests=WITH_TENSORFLOW + SEES_INSIDE,
    ),
    Cell(
        name="newest TensorFlow and Keras",
        python=NEWEST,
        pins=("tensorflow",),
        tests=WITH_TENSORFLOW + SEES_INSIDE,
    ),
)


def floors(requires: Sequence[str]) -> list[str]:
    """The oldest version that each requirement without an extra allows, exactly."""
    found = []
    for text in requires:
        one = Requirement(text)
        if one.marker is None:
            (lowest,) = [s.version for s in one.specifier if s.operator == ">="]
            found.append(f"{one.name}=={lowest}")
    return found
