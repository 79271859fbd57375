"""Training Health for TensorBoard: where did this training stop, and why?

Importing this package imports nothing heavy: each name is loaded when it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_health_plugin import summary as summary
    from tb_health_plugin.diagnosing import diagnose as diagnose
    from tb_health_plugin.recording.keras_callback import (
        HealthCallback as HealthCallback,
    )
    from tb_health_plugin.recording.loops.watch import watch as watch

__version__ = "0.1.0"
__all__ = ["HealthCallback", "__version__", "diagnose", "summary", "watch"]


def __getattr__(name: str) -> Any:
    if name == "HealthCallback":
        module = importlib.import_module("tb_health_plugin.recording.keras_callback")
        return module.HealthCallback
    if name == "watch":
        return importlib.import_module("tb_health_plugin.recording.loops.watch").watch
    if name == "diagnose":
        return importlib.import_module("tb_health_plugin.diagnosing").diagnose
    if name == "summary":
        return importlib.import_module("tb_health_plugin.summary")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
