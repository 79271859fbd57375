"""TensorBoard's way in.

TensorBoard imports this module before it serves anything, and an exception here
keeps it from starting at all. So nothing of ours is imported at the top.
"""

from typing import Any

from tensorboard.plugins import base_plugin

# TensorBoard keeps 10 points of a third-party plugin unless told otherwise.
_POINTS_PER_SERIES = 1_000


class HealthLoader(base_plugin.TBLoader):
    """Loads the Training Health tab."""

    def fix_flags(self, flags: Any) -> None:
        samples = getattr(flags, "samples_per_plugin", None)
        if isinstance(samples, dict):
            samples.setdefault("health", _POINTS_PER_SERIES)

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin | None:
        # An exception in here costs the user our tab, not their TensorBoard.
        from tb_health_plugin.server.health_tab import HealthTab  # noqa: PLC0415

        return HealthTab(context)
