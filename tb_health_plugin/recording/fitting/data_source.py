"""What can be told of a source of batches without taking one."""

import ast
import contextlib
import dis
import inspect
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import keras

from tb_health_plugin.recording.fitting.pipeline_stages import stages_of
from tb_health_plugin.recording.fitting.plain_text import LONGEST, attribute, plain

# What `cardinality` of a tf.data.Dataset says if there is no number.
_INFINITE = -1
_MAPS = ("Map", "Interleave", "MapAndBatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of batches.

    Attributes:
        kind: "arrays", "tf.data", "PyDataset", "generator" or the class.
        examples: Rows in it, if it tells.
        batches: Batches of one pass, if it is finite and tells.
        infinite: It says that it never ends, or its code has no end.
        more: Other settings by name.
    """

    kind: str
    examples: int | None = None
    batches: int | None = None
    infinite: bool = False
    more: Mapping[str, str | None] = field(default_factory=dict)


def source_of(data: Any) -> Source:
    """Looks at what `fit` was given as `x` or as `validation_data`."""
    tf: Any = sys.modules.get("tensorflow")
    if tf is not None and isinstance(data, tf.data.Dataset):
        return _pipeline(data)
    if tf is not None and isinstance(data, tf.distribute.DistributedDataset):
        return _counted("distributed tf.data", attribute(data, "cardinality"))
    if isinstance(data, keras.utils.PyDataset):
        return _py_dataset(data)
    examples = _rows(data)
    if examples is not None:
        return Source(kind="arrays", examples=examples)
    if hasattr(data, "__next__"):
        infinite = _never_returns(data)
        more = {} if infinite else {"loops_for_ever": _loops_for_ever(data)}
        return Source(kind="generator", infinite=infinite, more=more)
    return Source(kind=type(data).__name__, batches=_length(data))


def _never_returns(generator: Any) -> bool:
    """Its code has no way out but an exception: a `while True` without a return.

    Python leaves the final return away where no path leads to it.
    """
    code = attribute(generator, "gi_code")
    if code is None:
        return False
    names = {one.opname for one in dis.get_instructions(code)}
    return not names & {"RETURN_VALUE", "RETURN_CONST"}


def _loops_for_ever(generator: Any) -> str | None:
    """Gives "True" if it has a `while True`: what leaves that may never happen."""
    code = attribute(generator, "gi_code")
    # No generator, or its source is not at hand, as of code typed into a shell.
    with contextlib.suppress(OSError, TypeError, SyntaxError, ValueError):
        source = inspect.getsource(code)
        for node in ast.walk(ast.parse(textwrap.dedent(source))):
            if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
                return "True" if node.test.value else None
    return None


def _counted(kind: str, count: Any, **more: str | None) -> Source:
    number = int(count) if count is not None else None
    return Source(
        kind=kind,
        batches=number if number is not None and number >= 0 else None,
        infinite=number == _INFINITE,
        more=more,
    )


def _pipeline(dataset: Any) -> Source:
    stages = stages_of(dataset)
    names = stages.names
    maps = [name for name in names if name.removeprefix("Parallel") in _MAPS]
    python = stages.calls_python
    return _counted(
        "tf.data",
        dataset.cardinality(),
        prefetch=str(names[-1:] == ("Prefetch",)),
        parallel=str(any(map_ not in _MAPS for map_ in maps)) if maps else None,
        shuffle=str("Shuffle" in names),
        repeat=str("Repeat" in names),
        cache=str("Cache" in names),
        python=None if python is None else str(python),
        stages=", ".join(names)[-LONGEST:],
        elements=_elements(dataset.element_spec),
    )


def _elements(spec: Any) -> str:
    """As in "float32[None, 4], int64[None]"."""
    parts = []
    for one in keras.tree.flatten(spec):
        dtype = attribute(attribute(one, "dtype"), "name") or type(one).__name__
        shape = attribute(one, "shape")
        rank = attribute(shape, "rank")
        sizes = "…" if rank is None else ", ".join(str(size) for size in shape)
        parts.append(f"{dtype}[{sizes}]")
    return ", ".join(parts)[:LONGEST]


def _py_dataset(data: Any) -> Source:
    names = ("workers", "use_multiprocessing", "max_queue_size")
    more = {name: plain(attribute(data, name)) for name in names}
    more["class"] = type(data).__name__
    return Source(kind="PyDataset", batches=_length(data), more=more)


def _length(data: Any) -> int | None:
    with contextlib.suppress(Exception):  # code of the program, which Keras asks too
        return len(data)
    return None


def _rows(data: Any) -> int | None:
    """Rows of arrays that may be nested; None if it is no array."""
    if isinstance(data, Mapping):
        data = next(iter(data.values()), None)
    if isinstance(data, list | tuple) and data and not isinstance(data[0], int | float):
        return _rows(data[0])
    shape = attribute(data, "shape")
    with contextlib.suppress(Exception):
        return int(shape[0])
    return len(data) if isinstance(data, list | tuple) and data else None
