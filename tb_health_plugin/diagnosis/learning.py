"""Did it learn? Loss and accuracy beside what needs no training at all.

A loss says nothing by itself. It says something beside the loss of a model that
ignores its inputs: it gives every class the share it has in the data, or predicts the
mean of the target. Accuracy is compared with that of always naming the largest class.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tb_health_plugin.diagnosis.baseline import Baseline, baseline_of
from tb_health_plugin.diagnosis.batches import rows_per_epoch, target_of
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import (
    CROSS_ENTROPIES,
    Head,
    head_of,
    weighs_rows,
)
from tb_health_plugin.diagnosis.joined import joined
from tb_health_plugin.diagnosis.outputs import collapsed
from tb_health_plugin.diagnosis.ranking import ranks

# "no": no better than ignoring the inputs. "slow": not there yet, but it moves.
# "lost": the loss is NaN or infinite. "unknown": nothing to compare with.
State = Literal["yes", "no", "slow", "lost", "unknown"]

# Shorter runs are tries. Speed tests on random data mostly stay below, too.
LEAST_EPOCHS = 5
LEAST_STEPS = 200
# So many steps are enough even in few epochs.
MANY_STEPS = 1_000
# A loss below this share of the trivial one has used its inputs: with less, the
# error of the estimate from some batches begins to matter.
BETTER = 0.9
NOT_BETTER = 0.97
# Accuracy above chance by less than this, and three standard errors, is chance.
ACCURACY_MARGIN = 0.03
# With one class as large as this, accuracy alone cannot tell chance from skill.
LARGEST_SHARE = 0.8
# One number for every row of a batch, but a loss this good: its rows were alike.
ALIKE_BUT_BETTER = 0.5
# Above the trivial loss by this much, something drives it away, not only noise.
WORSE = 1.2
# A fall by less than this between first and last epoch is none.
FLAT = 0.03

_ACCURACIES = (
    "accuracy",
    "acc",
    "binary_accuracy",
    "categorical_accuracy",
    "sparse_categorical_accuracy",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How a training went, as far as loss and accuracy tell.

    Attributes:
        state: Whether it learned.
        losses: Mean training loss of each epoch.
        accuracies: Training accuracy of each epoch.
        start: Loss of the first batches.
        baseline: What needs no training; None if that is not known.
        collapsed: The model gives out nearly the same number for every row.
        by_loss: The loss supports the state.
        by_accuracy: The accuracy supports the state.
    """

    state: State
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    start: float | None
    baseline: Baseline | None
    collapsed: bool | None
    by_loss: bool
    by_accuracy: bool

    @property
    def end(self) -> float | None:
        """Loss at the end: the median of up to three epochs."""
        return statistics.median(self.losses[-3:]) if self.losses else None

    @property
    def is_bad(self) -> bool:
        return self.state in ("no", "slow", "lost")


def learning_of(training: Training) -> Learning:
    """Judges one training."""
    head = head_of(training)
    target = target_of(training)
    accuracies = tuple(finite(_accuracies(training)))
    reported = losses_of(training)
    losses = tuple(finite(reported))
    base = baseline_of(training, head, target)
    one_number = collapsed(training, head, target)
    by_loss = _by_loss(losses, base, one_number, head)
    by_accuracy = _by_accuracy(training, accuracies, base)
    if _is_worse(losses, base) and not _is_sure(accuracies, base):
        # A loss that is worse than ignorance outweighs an accuracy a bit above it.
        by_accuracy = "slow" if by_accuracy == "yes" else by_accuracy
    if by_accuracy == "no" and weighs_rows(training):
        # Rows of rare classes weigh more, at the cost of accuracy, as was wanted.
        by_accuracy = "unknown"
    state = _state(training, reported, by_loss, by_accuracy, base)
    if state in ("no", "slow") and ranks(training, target):
        state = "yes"
    return Learning(
        state=state,
        losses=losses,
        accuracies=accuracies,
        start=_start(training),
        baseline=base,
        collapsed=one_number,
        by_loss=by_loss == state,
        by_accuracy=by_accuracy == state,
    )


def losses_of(training: Training) -> list[float]:
    """The mean training loss of each epoch that has one; may hold NaN."""
    found = []
    for epoch in training.epochs:
        if "loss" not in epoch.metrics:
            continue
        loss = epoch.metrics["loss"]
        parts = finite(epoch.loss_profile)
        if loss == 0 and parts and any(parts):
            # Keras reports its own counter, which a step of the program never fed.
            loss = _mean(parts)
        found.append(loss)
    return found


def _mean(values: Sequence[float]) -> float:
    """Not `statistics.fmean`, which raises where the sum is infinite."""
    return sum(values) / len(values)


def main_training(case: Case) -> Training | None:
    """The one to judge: the last of those that are about as long as the longest.

    A search tries many and keeps the last; a short fit at the end is an epilogue.
    """
    trainings = joined(case.trainings)
    longest = max((training.steps for training in trainings), default=0)
    for training in reversed(trainings):
        if 2 * training.steps >= longest:
            return training
    return None


def is_long_enough(training: Training) -> bool:
    """Enough was done to expect that something was learned."""
    epochs, steps = len(training.epochs), training.steps
    if epochs >= LEAST_EPOCHS and steps >= LEAST_STEPS:
        return True
    return epochs >= 2 and steps >= MANY_STEPS


def accuracy_name(training: Training, prefix: str = "") -> str | None:
    """The accuracy that was reported, if one was."""
    names = training.metric_names
    return next((prefix + n for n in _ACCURACIES if prefix + n in names), None)


def _accuracies(training: Training) -> list[float]:
    name = accuracy_name(training)
    return training.metric(name) if name else []


def _start(training: Training) -> float | None:
    for epoch in training.epochs:
        profile = finite(epoch.loss_profile)
        if profile:
            return profile[0]
        break
    losses = finite([i.loss for i in training.inspections if i.loss is not None])
    return losses[0] if losses else None


def _state(
    training: Training,
    reported: Sequence[float],
    by_loss: State,
    by_accuracy: State,
    base: Baseline | None,
) -> State:
    if reported and not math.isfinite(reported[-1]):
        return "lost"
    if "yes" in (by_loss, by_accuracy):
        return "yes"
    if not is_long_enough(training) or base is None:
        return "unknown"
    if by_loss == "unknown":
        # A skewed accuracy says little: ranking may improve while it stands still.
        share = base.accuracy
        return by_accuracy if share is not None and share <= LARGEST_SHARE else by_loss
    if by_accuracy == "unknown":
        return by_loss
    return by_loss if by_loss == by_accuracy else "slow"


def _by_loss(
    losses: Sequence[float],
    base: Baseline | None,
    collapsed: bool | None,
    head: Head | None,
) -> State:
    if base is None or not losses:
        return "unknown"
    if base.loss is None:
        return "no" if collapsed else "unknown"
    end = statistics.median(losses[-3:])
    if end < (ALIKE_BUT_BETTER if collapsed else BETTER - 2 * base.error) * base.loss:
        return "yes"
    is_far = end > (WORSE + 2 * base.error) * base.loss
    if losses[0] > 0 and (losses[0] - end) / losses[0] > FLAT and is_far:
        return "slow"
    if collapsed:
        return "slow" if _keeps_falling(losses) else "no"
    if head is not None and head.kind in CROSS_ENTROPIES:
        return "slow" if min(losses) < NOT_BETTER * base.loss else "no"
    # Somewhere near the spread of a target that was only estimated: nobody knows.
    return "no" if is_far else "unknown"


def _keeps_falling(losses: Sequence[float]) -> bool:
    """It got lower in every one of the last epochs, and together by a good part."""
    late = losses[-1 - len(losses) // 3 :]
    if len(losses) < LEAST_EPOCHS or late[0] <= 0:
        return False
    falls = all(later < earlier for earlier, later in itertools.pairwise(late))
    return falls and late[0] - late[-1] > FLAT * late[0]


def _by_accuracy(
    training: Training, accuracies: Sequence[float], base: Baseline | None
) -> State:
    if base is None or base.accuracy is None or not accuracies:
        return "unknown"
    chance = base.accuracy
    rows = rows_per_epoch(training)
    error = math.sqrt(max(chance * (1 - chance), 0.0) / max(rows, 1))
    margin = min(ACCURACY_MARGIN, chance / 2, 3 * base.chance_error) + 3 * error
    end = statistics.median(accuracies[-3:])
    if end > chance + 2 * margin:
        return "yes"
    # What was reached for a moment at the beginning and lost again was not learned.
    settled = accuracies[len(accuracies) // 4 :]
    if max(settled) > chance + margin or _rises(accuracies, chance, error):
        return "slow"
    return "no"


def _rises(accuracies: Sequence[float], chance: float, error: float) -> bool:
    """Above chance, and better than at first by more than noise: a weak signal."""
    third = len(accuracies) // 3
    if third < 1:
        return False
    first = _mean(accuracies[:third])
    last = _mean(accuracies[-third:])
    return last > chance and last - first > 3 * error * math.sqrt(2 / third)


def _is_worse(losses: Sequence[float], base: Baseline | None) -> bool:
    """The loss was never better than without any training."""
    if base is None or base.loss is None or not losses:
        return False
    return min(losses) >= NOT_BETTER * base.loss


def _is_sure(accuracies: Sequence[float], base: Baseline | None) -> bool:
    """At least half the way from chance to being always right."""
    chance = (base.accuracy if base else None) or 0.0
    end = statistics.median(accuracies[-3:]) if accuracies else 0.0
    return end >= chance + (1 - chance) / 2
