"""Measures a training step that runs eagerly, while it runs.

Nothing is run twice there: the program's own Python code would be, too.
"""

from typing import Any

import tensorflow as tf

from tb_health_plugin.recording.fitting.look import Look, numbers_of
from tb_health_plugin.recording.fitting.probes import Measured, Probes


class Observation:
    """Looks at one step; `begin` before it, then `finish` or `abandon`."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._measured: Measured | None = None

    def begin(self) -> None:
        measured = Measured(self._probes.model)
        self._probes.put(update=True)
        self._measured = self._probes.measured = measured

    def finish(self, logs: Any) -> Look:
        """Tells what was seen.

        Args:
            logs: What the step reported.
        """
        measured = self._measured
        self.abandon()
        if measured is None:
            raise RuntimeError("no step was under way")
        numbers, legend = numbers_of(self._probes, measured, logs)
        return legend.look(numbers)

    def abandon(self) -> None:
        self._measured = self._probes.measured = None
        self._probes.remove()


def is_eager(model: Any) -> bool:
    """True if the model's steps run as plain Python."""
    return bool(model.run_eagerly) or tf.config.functions_run_eagerly()
