"""How large numbers of a training are: data, gradients, updates, first losses."""

import math
import statistics

from tb_health_plugin.diagnosis import inspections, loss_course
from tb_health_plugin.diagnosis.case import Training

# Gradients of an untrained network on scaled data are mostly between 0.1 and 100. Huge
# is far above that and far above the weights they are for.
HUGE_GRADIENT = 1e3
HUGE_BESIDE_WEIGHTS = 10.0

# Untrained networks answer with numbers of about 1, so their loss is about the square
# of the targets, or the logarithm of the number of classes.
HUGE_LOSS = 1e3

# Data beyond this was hardly scaled: the cause may be there.
UNSCALED = 100.0

_RECURRENT = ("RNN", "LSTM", "GRU", "Bidirectional", "TimeDistributed")


def data_scale(training: Training, role: str) -> float | None:
    """The usual highest magnitude in the inputs or targets of a batch."""
    found = []
    for batch in training.batches:
        ends = [
            abs(end)
            for field in batch.fields
            if field.role == role
            for end in (field.minimum, field.maximum)
            if end is not None and math.isfinite(end)
        ]
        if ends:
            found.append(max(ends))
    return statistics.median(found) if found else None


def is_unscaled(training: Training) -> bool:
    scales = [data_scale(training, role) for role in ("input", "target")]
    return any(scale is not None and scale >= UNSCALED for scale in scales)


def first_gradient(training: Training) -> float | None:
    """The norm of the gradients of the first step, before any update."""
    first = training.started.first_step or 0
    for look in training.inspections:
        if look.step == first and look.gradient_norm is not None:
            return look.gradient_norm if math.isfinite(look.gradient_norm) else None
    for bad in training.bad_numbers:
        before = dict(zip(bad.steps_before, bad.gradient_norms_before, strict=False))
        if first in before and math.isfinite(before[first]):
            return before[first]
    return None


def began_huge(training: Training) -> bool:
    """Gradients or the loss were far too large before any update could make them so."""
    if is_huge(training, first_gradient(training)):
        return True
    loss = loss_course.first_loss(training)
    return loss is not None and math.isfinite(loss) and is_huge_loss(training, loss)


def is_huge(training: Training, gradient: float | None) -> bool:
    """Far above what networks begin with, and above the weights it is for."""
    if gradient is None or gradient < HUGE_GRADIENT:
        return False
    seen = inspections.looks(training)[:1]
    weights = [w for one in inspections.variables(training, seen) for w in one.weights]
    total = math.hypot(*inspections.known(weights))
    return gradient >= HUGE_BESIDE_WEIGHTS * total


def is_huge_loss(training: Training, loss: float) -> bool:
    target = data_scale(training, "target") or 1.0
    return abs(loss) >= HUGE_LOSS * max(1.0, target * target)


def update_ratio(
    training: Training, before: int | None = None, since: int = 0
) -> float | None:
    """The largest usual size of an update beside the weights, over the looks."""
    seen = [look for look in inspections.looks(training, before) if look.step >= since]
    ratios = [one.update_ratios for one in inspections.kernels(training, seen)]
    per_look = [
        inspections.middle(row[index] for row in ratios) for index in range(len(seen))
    ]
    return max((ratio for ratio in per_look if ratio is not None), default=None)


def is_recurrent(training: Training) -> bool:
    kinds = [layer.kind for layer in training.started.layers]
    return any(word in kind for kind in kinds for word in _RECURRENT)
