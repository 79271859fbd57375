"""What needs no training at all: the loss and accuracy of ignoring the inputs."""

import math
import re
from dataclasses import dataclass

from tb_health_plugin.diagnosis.batches import Tensor
from tb_health_plugin.diagnosis.case import Training
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, Head, has_penalty

# Fewer rows tell too little of the shares of classes, or of the spread of a target.
LEAST_ROWS = 96
# Losses that no longer are the plain cross-entropy.
_CHANGED_LOSS = re.compile(r"focal|label_smoothing=(?!0(\.0)?[,)])", re.IGNORECASE)


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


def baseline_of(
    training: Training, head: Head | None, target: Tensor | None
) -> Baseline | None:
    """What needs no training; None if that is not known."""
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
