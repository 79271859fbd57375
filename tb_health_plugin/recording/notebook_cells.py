"""Learns of exceptions that a notebook shows: they end a cell, and not the process.

Ctrl-C in the middle of Keras, between two places that we stand around, is seen nowhere
else: the notebook keeps the traceback, and with it everything that was running.
"""

import builtins
import contextlib
from collections.abc import Callable
from typing import Any


def on_failed_cell(listener: Callable[[BaseException], None]) -> Callable[[], None]:
    """Calls `listener` after each cell that an exception left.

    Returns:
        What ends that. Without a notebook both do nothing.
    """
    get_ipython = getattr(builtins, "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    events = getattr(shell, "events", None)
    if events is None:
        return lambda: None

    def cell_ended(result: Any) -> None:
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, BaseException):
            listener(error)

    def forget() -> None:
        with contextlib.suppress(ValueError):
            events.unregister("post_run_cell", cell_ended)

    events.register("post_run_cell", cell_ended)
    return forget
