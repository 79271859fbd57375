"""Which callback a stack is in: stacks name lines and functions, not classes."""

import re

from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import Frame, parse, training_thread
from tb_health_plugin.reading.run_history import Attempt

# Methods of a callback that Keras calls.
HOOK = re.compile(r"^on_(train|test|predict|epoch|batch)_(\w+_)?(begin|end)$")
# Keras has one callback per file.
_KERAS = re.compile(r"/keras/.*callbacks/(\w+)\.py$")
_NO_CALLBACK = ("callback_list", "callback")
_LINES = re.compile(r"(\w+) ([^;]+):(\d+)-(\d+)")


def callback_of(attempt: Attempt, stacks: str) -> str | None:
    """Class of the callback that the training thread is in; None if not known."""
    thread = training_thread(parse(stacks))
    begun = attempt.last(facts.TrainingStarted)
    told = begun.settings.get("callbacks.lines", "") if begun else ""
    for frame in thread.frames if thread else ():
        if not HOOK.match(frame.function):
            continue
        found = _of_keras(frame) or _of_the_program(frame, told)
        if found is not None:
            return found
    return None


def _of_keras(frame: Frame) -> str | None:
    match = _KERAS.search(frame.file)
    if match is None or match[1] in _NO_CALLBACK:
        return None
    return "".join(part.capitalize() for part in match[1].split("_"))


def _of_the_program(frame: Frame, told: str) -> str | None:
    name = frame.file.rpartition("/")[2]
    for kind, file, first, last in _LINES.findall(told):
        if file == name and int(first) <= frame.line <= int(last):
            return str(kind)
    return None
