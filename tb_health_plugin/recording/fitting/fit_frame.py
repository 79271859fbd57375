"""Looks up the call of `fit` that runs a callback, and what it was called with.

Keras tells a callback only epochs and steps. The rest is read once from the frame of
`fit`, by the names of its public arguments; the frame itself is never kept.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import keras

from tb_health_plugin.recording.traces import outwards


@dataclass(slots=True)
class SeenCall:
    """The call of `fit` that is under way.

    Attributes:
        callback_list: What runs the callbacks; it lives as long as the call does,
            unless the program made it itself.
        arguments: Arguments of `fit` by name, with changes that Keras made.
    """

    callback_list: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)


def see_call(frame: FrameType | None, model: Any) -> SeenCall:
    """What can be seen from `frame` outwards."""
    seen = SeenCall()
    for one in outwards(frame):
        self = one.f_locals.get("self")
        if seen.callback_list is None:
            if isinstance(self, keras.callbacks.CallbackList):
                seen.callback_list = self
        elif one.f_code.co_name == "fit" and self is model:
            names = inspect.signature(keras.Model.fit).parameters
            found: Mapping[str, Any] = one.f_locals
            seen.arguments = {
                name: found[name] for name in names if name in found and name != "self"
            }
            seen.arguments.pop("callbacks", None)
            break
    return seen


def lists_running(frame: FrameType | None) -> list[Any]:
    """The callback lists of all calls of `fit` that `frame` is in."""
    found = []
    for one in outwards(frame):
        if one.f_code.co_name == "fit":
            given = one.f_locals.get("callbacks")
            if isinstance(given, keras.callbacks.CallbackList):
                found.append(given)
    return found
