"""Advice names only what TensorFlow, Keras and NumPy offer to everybody."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

# The rules are tested without TensorFlow, too; there nobody can be asked for its names.
keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

DIAGNOSIS = Path(__file__).parents[2] / "tb_health_plugin" / "diagnosis"
LIBRARIES = {"tf": tf, "keras": keras, "np": np, "ops": keras.ops}
# A name that is cut, as in an f-string, is asked for up to its last whole part.
NAME = re.compile(rf"(?<![\w./])({'|'.join(LIBRARIES)})((?:\.[A-Za-z_]\w*)+)")
# What is no name: a file that TensorFlow writes.
FILES = {"keras.weights"}


def names() -> Iterator[tuple[str, str]]:
    """Every name in a text of a module, with the module."""
    for path in sorted(DIAGNOSIS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for found in NAME.finditer(node.value):
                    yield found[0], path.name


def is_public(name: str) -> bool:
    library, *parts = name.split(".")
    thing = LIBRARIES[library]
    for part in parts:
        if part.startswith("_") or not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True


def test_every_name_in_advice_is_public():
    found = {f"{name} ({module})" for name, module in names() if not is_public(name)}

    assert found == set()
    assert len({name for name, _ in names()}) > 50
