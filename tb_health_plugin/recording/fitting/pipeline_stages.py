"""The stages of a `tf.data` pipeline, from source to end.

A dataset has no public list of what it is made of. Serializing it would show all, but
copies every tensor inside: 400 MB of arrays took 5 seconds and 800 MB. So the objects
that it holds are looked at: those that are datasets, and functions. Should a later
TensorFlow keep them elsewhere, only the last stage is told.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Longer pipelines are made by a program that concatenates datasets in a loop.
_MOST_STAGES = 100
_NAME = re.compile(r"^_?(\w+?)(?:Dataset)?(?:V\d+)?$")
_NESTED = re.compile(r"\w+Dataset(?:V\d+)?$")
# Keeps options and changes nothing.
_NO_STAGE = ("Options", "Model")
_PYTHON_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
# What such an operation runs cannot be seen from here.
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a pipeline is made of.

    Attributes:
        names: Kinds of its stages from source to end, as in "TFRecord" or "Map".
        calls_python: One of its functions calls back into Python; None if unknown.
    """

    names: tuple[str, ...]
    calls_python: bool | None


def stages_of(dataset: Any) -> Stages:
    """Looks at a `tf.data.Dataset` without running or copying anything."""
    names: list[str] = []
    python, hidden = False, False
    for stage in _stages(dataset):
        operations = [op for function in _functions(stage) for op in _types(function)]
        nested = [op for op in operations if _NESTED.match(op)]
        python |= any(op in _PYTHON_OPS for op in operations)
        hidden |= bool(nested) or any(op in _CALLS for op in operations)
        names += [_name(op) for op in nested]
        names.append(_name(type(stage).__name__))
    shown = tuple(name for name in names if name not in _NO_STAGE)
    return Stages(names=shown, calls_python=python or (None if hidden else False))


def _name(kind: str) -> str:
    match = _NAME.match(kind)
    return match.group(1) if match else kind


def _stages(dataset: Any) -> Iterator[Any]:
    """Each stage once, the ones that it reads from before it."""
    seen: set[int] = set()
    path: list[tuple[Any, bool]] = [(dataset, False)]
    while path:
        stage, is_entered = path.pop()
        if is_entered:
            yield stage
        elif id(stage) not in seen and len(seen) < _MOST_STAGES:
            seen.add(id(stage))
            path.append((stage, True))
            path += [(one, False) for one in reversed(list(_inputs(stage)))]


def _inputs(stage: Any) -> Iterator[Any]:
    tf: Any = sys.modules["tensorflow"]
    for held in vars(stage).values():
        for one in tf.nest.flatten(held) if isinstance(held, tuple | list) else [held]:
            if isinstance(one, tf.data.Dataset):
                yield one


def _functions(stage: Any) -> Iterator[Any]:
    """The functions that a stage runs, each kept in an object of its own."""
    tf: Any = sys.modules["tensorflow"]
    for held in vars(stage).values():
        if not isinstance(held, tf.data.Dataset) and hasattr(held, "__dict__"):
            for one in vars(held).values():
                if isinstance(one, tf.types.experimental.ConcreteFunction):
                    yield one


def _types(function: Any) -> list[str]:
    return [operation.type for operation in function.graph.get_operations()]
