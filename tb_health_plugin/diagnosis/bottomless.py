"""A loss that falls below zero without end: nothing is lowest where it should be."""

import itertools
import math

from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.loss_course import course

# Likelihoods and rewards go below zero too, but not to a thousand times where they
# began.
FAR_BELOW = 1_000.0
LEAST_POINTS = 5


def lowest(training: Training) -> float | None:
    """Where such a loss had fallen to; None if it is not one."""
    losses = [loss for bad in training.bad_numbers for loss in bad.losses_before]
    if len(finite(losses)) < LEAST_POINTS:
        losses = list(itertools.takewhile(math.isfinite, course(training)))
    losses = finite(losses)
    if len(losses) < LEAST_POINTS:
        return None
    last = losses[-LEAST_POINTS:]
    falls = all(later < earlier for earlier, later in itertools.pairwise(last))
    # Each fall is larger than the one before: it runs away, and does not settle.
    drops = [earlier - later for earlier, later in itertools.pairwise(last)]
    runs_away = falls and drops[-1] > drops[0]
    far = last[-1] < -FAR_BELOW * max(1.0, abs(losses[0]))
    return last[-1] if runs_away and far else None
