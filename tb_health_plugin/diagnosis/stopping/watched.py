"""A metric as a callback watched it."""

import math

from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.metric_direction import Direction, better
from tb_health_plugin.diagnosis.verdict import Confidence, Fix
from tb_health_plugin.events import facts

# So much of a value is progress that somebody wants, not noise of batches.
REAL_PROGRESS = 0.05
# A gain is steep if it is at least this part of all that was gained so far.
STEEP = 0.1
# Fewer epochs than this show no course.
LEAST_EPOCHS = 3

# A detail, how sure, the reason for the headline, evidence, what to change.
Found = tuple[str, Confidence, str, str, Fix]


class Watched:
    """A metric as a callback watched it.

    Attributes:
        values: One per epoch, up to the stop.
        mode: How the callback compared, as far as that is known.
        wants: What is better for this metric, as far as its name tells.
    """

    def __init__(self, training: Training, stop: facts.StopRequested) -> None:
        self.training = training
        self.stop = stop
        self.name = stop.monitor or ""
        self.values = finite(training.metric(self.name))
        self.wants = better(self.name)
        self.mode = self._mode()

    def setting(self, name: str) -> float | None:
        try:
            value = float(self.stop.settings.get(name, ""))
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def gain(self, earlier: float, later: float, direction: Direction) -> float:
        """How much better the later value is; negative if it is worse."""
        return earlier - later if direction == "min" else later - earlier

    def epochs_since_best(self, direction: Direction) -> int:
        """Epochs after the first that had the best value."""
        best = max(self.values) if direction == "max" else min(self.values)
        return len(self.values) - 1 - self.values.index(best)

    def _mode(self) -> Direction | None:
        told: dict[str, Direction] = {"min": "min", "max": "max"}
        mode = told.get(self.stop.settings.get("mode", ""))
        if mode is not None:
            return mode
        # Keras gives the smallest step the sign of the direction.
        step = self.setting("min_delta")
        if step:
            return "max" if step > 0 else "min"
        best = self.stop.best
        if best is None or not self.stop.is_keras or len(set(self.values)) < 2:
            return None
        if same(best, min(self.values)):
            return "min"
        return "max" if same(best, max(self.values)) else None


def same(one: float, other: float) -> bool:
    """Equal but for rounding."""
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)
