"""A best value that a callback still kept, although the training had a better one.

A callback of the program's own names no metric. What it remembers as its best tells
which one it watches: the value is that of an epoch, to the last digit.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.metric_direction import Direction, better
from tb_health_plugin.events import facts

# A value remembered for another reason may be old on purpose: the first loss, to stop
# at a tenth of it, or the last one.
_BEST = re.compile(r"best|lowest|highest|smallest|largest|record", re.IGNORECASE)

# Values of an epoch go through no arithmetic on their way into a callback.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class OldBest:
    """What a callback compared with.

    Attributes:
        metric: The metric whose value it kept.
        first: That metric in the first epoch.
        kept: The value it kept.
        reached: The best value by then.
    """

    metric: str
    first: float
    kept: float
    reached: float


def old_best(
    training: Training, stop: facts.StopRequested, progress: float
) -> OldBest | None:
    """The best that this callback kept; None if it is the real one, or not known.

    Args:
        training: The training it stopped.
        stop: The stop.
        progress: What part of a value is real progress.
    """
    for kept in _remembered(stop):
        for name in training.metric_names:
            wants, values = better(name), finite(training.metric(name))
            if wants is None or not _is_of(kept, values[:-1]):
                continue
            reached = max(values) if wants == "max" else min(values)
            if _gain(kept, reached, wants) <= progress * abs(kept):
                continue
            # Since then it may have got worse for long: a stop would be right.
            if _is_of(reached, values[-1 - (stop.wait or 0) :]):
                return OldBest(name, values[0], kept, reached)
    return None


def kept(metric: str, wants: Direction) -> str:
    """The lines of a callback that keep the best value of a metric."""
    better_than = "<" if wants == "min" else ">"
    return (
        f'if logs["{metric}"] {better_than} self.best:\n'
        f'    self.best, self.wait = logs["{metric}"], 0'
    )


def _remembered(stop: facts.StopRequested) -> Iterator[float]:
    if stop.best is not None and math.isfinite(stop.best):
        yield stop.best
    for name, text in stop.settings.items():
        if _BEST.search(name):
            try:
                value = float(text)
            except ValueError:
                continue
            if math.isfinite(value):
                yield value


def _is_of(value: float, values: list[float]) -> bool:
    return any(math.isclose(value, one, rel_tol=_SAME) for one in values)


def _gain(earlier: float, later: float, wants: Direction) -> float:
    return earlier - later if wants == "min" else later - earlier
