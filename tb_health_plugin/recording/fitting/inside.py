"""Knows which callback of the program runs in this thread, and how to name it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras


class _Inside(threading.local):
    callback: Any = None
    name: str | None = None


inside = _Inside()


def name_of(callback: Any, method: Callable[..., Any]) -> str:
    """The class of a callback; one made of functions is named by its function."""
    name = type(callback).__name__
    if not isinstance(callback, keras.callbacks.LambdaCallback):
        return name
    function = getattr(method, "__name__", "")
    code = getattr(method, "__code__", None)
    if function == "<lambda>" and code is not None:
        function = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    return f"{name} ({function})" if function else name


def is_keras(callback: Any) -> bool:
    """True for the callbacks that come with Keras."""
    return type(callback).__module__.partition(".")[0] == "keras"
