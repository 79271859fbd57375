"""Who may import what, checked by importing it in a fresh interpreter."""

import pkgutil
import subprocess
import sys

import pytest

import tb_health_plugin

# The part that runs inside the trainer.
IN_THE_TRAINER = (
    "tb_health_plugin.recording.keras_callback",
    "tb_health_plugin.recording.fitting",
    "tb_health_plugin.recording.loops",
)
RUNS_WHEN_IMPORTED = ("tb_health_plugin.__main__",)

MODULES = [
    tb_health_plugin.__name__,
    *(
        module.name
        for module in pkgutil.walk_packages(
            tb_health_plugin.__path__, f"{tb_health_plugin.__name__}."
        )
        if not module.name.startswith(IN_THE_TRAINER)
        and module.name not in RUNS_WHEN_IMPORTED
    ),
]


def imported_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_tensorflow_stays_outside_of_all_but_the_trainer():
    """One interpreter for all; a failure is looked for module by module."""
    everything = "; ".join(f"import {module}" for module in MODULES)
    if {"tensorflow", "keras"} & imported_by(everything):
        guilty = [m for m in MODULES if "tensorflow" in imported_by(f"import {m}")]
        pytest.fail(f"these import TensorFlow: {guilty}")


@pytest.mark.parametrize("package", ["events", "collectors", "writing", "watching"])
def test_what_the_watcher_needs_is_small(package: str):
    names = [m for m in MODULES if m.startswith(f"tb_health_plugin.{package}")]

    loaded = imported_by("; ".join(f"import {name}" for name in names))

    heavy = {"numpy", "psutil", "werkzeug", "tensorboard.backend.application"}
    assert not heavy & loaded


def test_tensorboards_way_in_imports_nothing_of_ours():
    loaded = imported_by("import tb_health_plugin.plugin")

    ours = {name for name in loaded if name.startswith("tb_health_plugin")}
    assert ours == {"tb_health_plugin", "tb_health_plugin.plugin"}


def test_the_package_itself_is_light():
    loaded = imported_by("import tb_health_plugin")

    assert not {"tensorboard", "google.protobuf", "numpy"} & loaded


def test_public_names_are_there():
    for name in tb_health_plugin.__all__:
        assert getattr(tb_health_plugin, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tb_health_plugin.nothing  # noqa: B018 - the look itself is the test
