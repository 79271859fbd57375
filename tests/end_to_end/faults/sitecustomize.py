"""Makes one part of Training Health fail in every Python that finds this file first.

The environment says which: `FAULTY_MODULE`, and in `FAULT` a line that runs in that
module once it is imported; there, `fail` is something to put in place of a function.
Without such a line the module cannot be imported at all. TensorBoard does without
TensorFlow there, and so starts sooner.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, NoReturn


def fail(*args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError("broken on purpose")


class FaultyFinder(importlib.abc.MetaPathFinder):
    """Finds the module as usual, and has it broken when it is there."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != os.environ.get("FAULTY_MODULE"):
            return None
        if not os.environ.get("FAULT"):
            raise ImportError(f"{name} is missing on purpose")
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        spec.loader = FaultyLoader(spec.loader)
        return spec


class FaultyLoader(importlib.abc.Loader):
    """Loads the module, then runs the line in it."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        exec(os.environ["FAULT"], {**vars(module), "fail": fail})


_NO_TENSORFLOW = "tensorboard.compat.notf"
sys.modules[_NO_TENSORFLOW] = ModuleType(_NO_TENSORFLOW)
sys.meta_path.insert(0, FaultyFinder())
