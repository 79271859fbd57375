"""Labels that are rare: not in the batches looked at, or never named by the model."""

import re

from tb_health_plugin.diagnosis.baseline import Baseline
from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.learning import (
    NOT_BETTER,
    Learning,
    accuracy_name,
)

# Accuracy that is the same to the last digit for so many epochs comes of one answer.
LEAST_SAME_EPOCHS = 3

# Metrics that stay at 0 as long as no label is positive, and as long as none is found.
_ONLY_WITH_POSITIVES = re.compile(r"recall|precision|auc|f1|true_positives|tp$")
_ONLY_IF_FOUND = re.compile(r"recall|precision|f1|true_positives|tp$")


def has_other_labels(training: Training, value: float) -> bool:
    """What was reported could not be so if all labels were `value`.

    Labels of some batches are looked at: one in hundreds may be in none of them.
    """
    name = accuracy_name(training)
    accuracies = finite(training.metric(name)) if name else []
    if len(accuracies) > 1 and accuracies[-1] < 1:
        return True
    return value == 0 and any(_above_zero(training, _ONLY_WITH_POSITIVES))


def names_one_class(training: Training, learned: Learning, base: Baseline) -> bool:
    """The loss may still fall, but for epochs every row got the same answer."""
    last = learned.accuracies[-LEAST_SAME_EPOCHS:]
    if len(last) < LEAST_SAME_EPOCHS or len(set(last)) > 1 or last[0] >= 1:
        return False
    is_better = base.loss is not None and learned.losses[-1] < NOT_BETTER * base.loss
    found = _above_zero(training, _ONLY_IF_FOUND)[-LEAST_SAME_EPOCHS:]
    return not is_better and not any(found)


def _above_zero(training: Training, named: re.Pattern[str]) -> list[bool]:
    """Per epoch, whether one of the metrics with such a name is above 0."""
    return [
        any(value > 0 for name, value in epoch.metrics.items() if named.search(name))
        for epoch in training.epochs
    ]
