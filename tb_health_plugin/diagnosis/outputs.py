"""What the last layer gave out, at each look at it."""

from collections.abc import Sequence

from tb_health_plugin.diagnosis.batches import Tensor
from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, Head

# Outputs that spread this little beside the target are one number for every row.
# Honest predictions of very noisy targets (1 % explained) spread by a tenth.
COLLAPSED = 0.05


def collapsed(
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
    return _seen(training, head, [i.output_stds for i in training.inspections])


def output_range(training: Training, head: Head) -> tuple[float | None, float | None]:
    """The lowest and the highest that was seen of it."""
    looks = training.inspections
    lows = _seen(training, head, [look.output_minimums for look in looks])
    highs = _seen(training, head, [look.output_maximums for look in looks])
    return min(lows, default=None), max(highs, default=None)


def _seen(
    training: Training, head: Head, looks: Sequence[Sequence[float]]
) -> list[float]:
    """Of numbers that each look has one of per layer, those of the last layer."""
    names = [layer.name for layer in training.started.layers]
    if head.layer.name not in names:
        return []
    place = names.index(head.layer.name)
    return finite([look[place] for look in looks if place < len(look)])
