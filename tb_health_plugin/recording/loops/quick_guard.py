"""The guard for what runs at every step: it costs nothing as long as nothing fails."""

from collections.abc import Callable
from typing import Any

from tb_health_plugin.recording.guard import Guard


def guarded(guard: Guard, what: str, call: Callable[..., None], *args: Any) -> None:
    """Calls it, unless that failed before; a fault goes to the guard."""
    if guard.is_off(what):
        return
    try:
        call(*args)
    except Exception:
        with guard.protect(what):
            raise
