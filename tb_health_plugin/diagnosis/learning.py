"""Did it learn? Loss and accuracy beside what needs no training at all.

A loss says nothing by itself. It says something beside the loss of a model that
ignores its inputs: it gives every class the share it has in the data, or predicts the
mean of the target. Accuracy is compared with that of always naming the largest class.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tb_health_plugin.diagnosis.batches import Tensor, target_of
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import (
    CROSS_ENTROPIES,
    Head,
    has_penalty,
    head_of,
    weighs_rows,
)
from tb_health_plugin.diagnosis.joined import joined

# "no": no better than ignoring the inputs. "slow": not there yet, but it moves.
# "lost": the loss is NaN or infinite. "unknown": nothing to compare with.
State = Literal["yes", "no", "slow", "lost", "unknown"]

# Shorter runs are tries. Speed tests on random data mostly stay below, too.
LEAST_EPOCHS = 5
LEAST_STEPS = 200
# So many steps are enough even in few epochs.
MANY_STEPS = 1_000
# Fewer rows tell too little of the shares of classes, or of the spread of a target.
LEAST_ROWS = 96
# A loss below this share of the trivial one has used its inputs: with less, the
# error of the estimate from some batches begins to matter.
BETTER = 0.9
NOT_BETTER = 0.97
# Accuracy above chance by less than this, and three standard errors, is chance.
ACCURACY_MARGIN = 0.03
# With one class as large as this, accuracy alone cannot tell chance from skill.
LARGEST_SHARE = 0.8
# Outputs that spread this little beside the target are one number for every row.
# Honest predictions of very noisy targets (1 % explained) spread by a tenth.
COLLAPSED = 0.05
# Unless the loss is this good: then the rows of that batch were alike.
ALIKE_BUT_BETTER = 0.5
# Above the trivial loss by this much, something drives it away, not only noise.
WORSE = 1.2
# A fall by less than this between first and last epoch is none.
FLAT = 0.03

# Area under a curve: 0.5 ranks by chance, and a curve of precision and recall reaches
# the share of the positive rows. Chance stays within so many standard errors of that;
# the least is for that share, which is known from some batches only.
RANKING_ERRORS = 4.0
LEAST_RANKING_MARGIN = 0.02

# Losses that no longer are the plain cross-entropy.
_CHANGED_LOSS = re.compile(r"focal|label_smoothing=(?!0(\.0)?[,)])", re.IGNORECASE)

# How Keras and most programs name that area.
_RANKINGS = re.compile(r"(?:^|_)(?:auc|auroc|aucroc)(?:_|\d|$)", re.IGNORECASE)

_ACCURACIES = (
    "accuracy",
    "acc",
    "binary_accuracy",
    "categorical_accuracy",
    "sparse_categorical_accuracy",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a model reaches that ignores its inputs.

    Attributes:
        loss: Its loss; None if the reported loss cannot be compared with it.
        accuracy: Its accuracy; None without classes.
        words: What it does, as the rest of a sentence.
        error: Standard error of that loss, as a share of it.
        chance_error: Standard error of that accuracy.
    """

    loss: float | None
    accuracy: float | None
    words: str
    error: float = 0.0
    chance_error: float = 1.0


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
    base = _baseline(training, head, target)
    collapsed = _collapsed(training, head, target)
    by_loss = _by_loss(losses, base, collapsed, head)
    by_accuracy = _by_accuracy(training, accuracies, base)
    if _is_worse(losses, base) and not _is_sure(accuracies, base):
        # A loss that is worse than ignorance outweighs an accuracy a bit above it.
        by_accuracy = "slow" if by_accuracy == "yes" else by_accuracy
    if by_accuracy == "no" and weighs_rows(training):
        # Rows of rare classes weigh more, at the cost of accuracy, as was wanted.
        by_accuracy = "unknown"
    state = _state(training, reported, by_loss, by_accuracy, base)
    if state in ("no", "slow") and _ranks(training, target):
        state = "yes"
    return Learning(
        state=state,
        losses=losses,
        accuracies=accuracies,
        start=_start(training),
        baseline=base,
        collapsed=collapsed,
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
            loss = statistics.fmean(parts)
        found.append(loss)
    return found


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
        return "no"
    if head is not None and head.kind in CROSS_ENTROPIES:
        return "slow" if min(losses) < NOT_BETTER * base.loss else "no"
    # Somewhere near the spread of a target that was only estimated: nobody knows.
    return "no" if is_far else "unknown"


def _by_accuracy(
    training: Training, accuracies: Sequence[float], base: Baseline | None
) -> State:
    if base is None or base.accuracy is None or not accuracies:
        return "unknown"
    chance = base.accuracy
    rows = _rows_per_epoch(training)
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
    first = statistics.fmean(accuracies[:third])
    last = statistics.fmean(accuracies[-third:])
    return last > chance and last - first > 3 * error * math.sqrt(2 / third)


def _ranks(training: Training, target: Tensor | None) -> bool:
    """It tells rows apart: weak signals show here first, and rare classes only here."""
    if target is None or not 0 < target.mean < 1:
        return False
    rows = max(_rows_per_epoch(training), 1.0)
    # Of the Mann-Whitney statistic, which the area under the ROC curve is.
    error = math.sqrt(1 / (12 * rows * target.mean * (1 - target.mean)))
    margin = max(LEAST_RANKING_MARGIN, RANKING_ERRORS * error)
    level = max(0.5, target.mean) + margin
    return any(
        _ends_above(training, name, level)
        # What was learned from the order of rows alone is gone when others are asked.
        and _ends_above(training, f"val_{name}", level - margin / 2, absent=True)
        for name in training.metric_names
        if _RANKINGS.search(name) and not name.startswith("val_")
    )


def _ends_above(
    training: Training, name: str, level: float, *, absent: bool = False
) -> bool:
    values = finite(training.metric(name))[-3:]
    return statistics.median(values) > level if values else absent


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


def _rows_per_epoch(training: Training) -> float:
    first = next((e for e in training.epochs if e.last_step is not None), None)
    steps = 1
    if first is not None and first.last_step is not None:
        steps = max(first.last_step - (first.first_step or 0), 1)
    return steps * (training.number("batch_size") or 32.0)


def _baseline(
    training: Training, head: Head | None, target: Tensor | None
) -> Baseline | None:
    if head is None or target is None or target.rows < LEAST_ROWS:
        return None
    comparable = head.kind is not None and not has_penalty(training)
    comparable = comparable and not _CHANGED_LOSS.search(head.loss)
    if head.kind in CROSS_ENTROPIES:
        return _of_classes(head, target, comparable)
    if head.kind in ("squared", "absolute") and target.std > 0:
        # A median is never further off than the standard deviation.
        loss = target.std * target.std if head.kind == "squared" else target.std
        return Baseline(
            loss=loss if comparable else None,
            accuracy=None,
            words=f"always predicting the mean of the target ({target.mean:.4g})",
            error=math.sqrt(2 / target.rows),
        )
    return None


def _of_classes(head: Head, target: Tensor, comparable: bool) -> Baseline | None:
    shares = _shares(head, target)
    if shares is None:
        units = head.units or 0
        if units < 2 or head.kind == "binary":
            return None
        return Baseline(
            loss=math.log(units) if comparable else None,
            accuracy=1 / units if target.is_one_hot else None,
            words=f"guessing among {units} classes",
        )
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    if entropy <= 0:
        return None
    return Baseline(
        loss=entropy if comparable else None,
        accuracy=max(shares),
        chance_error=math.sqrt(max(shares) * (1 - max(shares)) / target.rows),
        words="giving every row the shares of the classes",
    )


def _shares(head: Head, target: Tensor) -> list[float] | None:
    """Shares of the classes; None if they are not known."""
    if not target.counts or not target.whole_numbers or head.kind == "categorical":
        return None
    if target.width != 1 and head.kind != "sparse":
        return None
    if head.kind == "binary" and not set(target.counts) <= {0.0, 1.0}:
        return None
    total = sum(target.counts.values())
    return [count / total for count in target.counts.values()]


def _collapsed(
    training: Training, head: Head | None, target: Tensor | None
) -> bool | None:
    """The last looks at the output saw one number for every row."""
    if head is None or target is None or target.std <= 0:
        return None
    if head.kind in CROSS_ENTROPIES or (head.units or 0) != 1:
        return None
    stds = output_stds(training, head)
    return max(stds[-2:]) < COLLAPSED * target.std if stds else None


def output_stds(training: Training, head: Head) -> list[float]:
    """How widely the last layer's output spread, at each look."""
    names = [layer.name for layer in training.started.layers]
    place = names.index(head.layer.name) if head.layer.name in names else -1
    found = []
    for look in training.inspections:
        if 0 <= place < len(look.output_stds):
            found.append(look.output_stds[place])
    return finite(found)
