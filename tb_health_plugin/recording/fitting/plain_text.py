"""Settings of objects as short text: plain values only, never code or data."""

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

# Longer than any name or number; what is longer is data.
LONGEST = 200
# A setting of float32 shown with more digits shows rounding, not the setting.
_DIGITS = 7
# Attributes that say what an object is, not how it was set; and drawn numbers.
_NO_SETTINGS = ("name", "dtype", "built", "seed")


def plain(value: Any) -> str | None:
    """A number, truth value, text or short row of them as text; else None."""
    if isinstance(value, bool | np.bool_ | str):
        text = str(value)
    elif isinstance(value, int | np.integer):
        text = str(int(value))
    elif isinstance(value, float | np.floating):
        text = str(float(f"{float(value):.{_DIGITS}g}"))
    elif isinstance(value, tuple | list):
        parts = [plain(one) for one in value]
        text = f"({', '.join(str(part) for part in parts)})"
        if None in parts:
            return None
    else:
        return None
    return text if len(text) <= LONGEST else None


def plain_settings(thing: Any) -> dict[str, str]:
    """The plain ones of an object's public attributes.

    `get_config` would tell more, but it may be code of the program, serializes
    functions, and warns.
    """
    own = is_keras(thing)
    found: dict[str, str] = {}
    for name, value in getattr(thing, "__dict__", {}).items():
        # Text that the program put somewhere may be anything.
        is_setting = own or not isinstance(value, str)
        is_setting &= not name.startswith("_") and name not in _NO_SETTINGS
        text = plain(value) if is_setting else None
        if text is not None:
            found[name] = text
    return found


def called(thing: Any) -> str | None:
    """What it is called: a text itself, a function by its name, else the class."""
    if thing is None or isinstance(thing, str):
        return thing
    name = getattr(thing, "__name__", None)
    return name if isinstance(name, str) else type(thing).__name__


def class_and_settings(thing: Any) -> str | None:
    """As in `L2(l2=0.01)`; a text or a function as itself."""
    name = called(thing)
    if name is None or isinstance(thing, str) or hasattr(thing, "__name__"):
        return name
    settings = plain_settings(thing)
    return with_settings(name, settings) if settings else name


def with_settings(name: str, settings: Mapping[str, str]) -> str:
    inside = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{name}({inside})"


def is_keras(thing: Any) -> bool:
    """True if its class is one of Keras' own."""
    return type(thing).__module__.partition(".")[0] == "keras"


def attribute(thing: Any, name: str) -> Any:
    """None if there is none; also if code of the program fails when it is asked."""
    with contextlib.suppress(Exception):
        return getattr(thing, name, None)
    return None
