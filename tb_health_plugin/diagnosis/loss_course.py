"""How the loss went: where it began, where it is, and whether that is learning."""

import math
import statistics

from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.learning import learning_of

# Fewer points, or fewer steps, are no course.
LEAST_POINTS = 8
LEAST_STEPS = 100

# Noise of batches is smaller than this over a quarter of a run.
LEARNED_SHARE = 0.1

# A loss that settled within the first part of a run, and then improved by less.
SETTLING_PART = 0.1
SETTLED_SHARE = 0.03


def course(training: Training) -> list[float]:
    """The loss in equal parts of each epoch, else of each epoch; may hold NaN."""
    if all(epoch.loss_profile for epoch in training.epochs):
        return [loss for epoch in training.epochs for loss in epoch.loss_profile]
    return training.metric("loss")


def first_loss(training: Training) -> float | None:
    """The loss of the very first step, before any update; None if not recorded."""
    first = training.started.first_step or 0
    for look in training.inspections:
        if look.step == first and look.loss is not None:
            return look.loss
    for bad in training.bad_numbers:
        if first in bad.steps_before[:1] and bad.losses_before:
            return bad.losses_before[0]
    for epoch in training.epochs[:1]:
        steps = (epoch.last_step or 0) - (epoch.first_step or 0)
        if epoch.loss_profile and len(epoch.loss_profile) == steps:
            return epoch.loss_profile[0]
    return None


def start(training: Training) -> float | None:
    """The loss of the model before it was trained, as far as is known.

    The first part of an epoch may be the mean of several steps. An untrained model
    does about as well as one that ignores its inputs, so the lower one is taken.
    """
    exact = first_loss(training)
    if exact is not None and math.isfinite(exact):
        return exact
    base = learning_of(training).baseline
    levels = [*course(training)[:1], *([base.loss] if base and base.loss else [])]
    return min(finite(levels), default=None)


def before_bad(training: Training) -> list[float]:
    """The losses of parts of epochs up to the first that is not finite."""
    good = []
    for loss in course(training):
        if not math.isfinite(loss):
            break
        good.append(loss)
    return good


def late(training: Training) -> float | None:
    """The usual loss in the last quarter of what was run."""
    losses = course(training)
    last = finite(losses[-max(1, len(losses) // 4) :])
    return statistics.median(last) if last else None


def has_learned(training: Training) -> bool | None:
    """Whether it does better than a model that ignores its inputs.

    Where nobody knows what such a model reaches, the loss it began with stands in.
    None: too little was recorded to say.
    """
    learning = learning_of(training)
    if learning.state in ("yes", "no"):
        return learning.state == "yes"
    losses, began, now = course(training), start(training), late(training)
    if len(losses) < LEAST_POINTS or training.steps < LEAST_STEPS:
        return None
    if began is None or now is None:
        return None
    trivial = learning.baseline.loss if learning.baseline else None
    level = began if trivial is None else min(began, trivial)
    return now < level - LEARNED_SHARE * abs(level)


def settled_at_once(training: Training) -> float | None:
    """The loss that it reached at its beginning and never left; None if it did.

    So does a network whose last layer alone learns: a first output far off is mended in
    a few steps, and looks like learning.
    """
    if learning_of(training).state == "yes":
        return None
    losses, now = course(training), late(training)
    begun = round(len(losses) * SETTLING_PART)
    if not begun or training.steps < LEAST_STEPS or now is None:
        return None
    early = finite(losses[begun : 3 * begun])
    if not early:
        return None
    level = statistics.median(early)
    return now if now > level - SETTLED_SHARE * abs(level) else None
