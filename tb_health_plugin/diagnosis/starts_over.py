"""Epochs that all begin where the first began: what they learn does not stay."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Training, finite

# Fewer epochs agree by chance; fewer parts of one show no course.
LEAST_EPOCHS = 4
LEAST_PARTS = 9
# Each epoch must gain this part of its loss, and lose it again.
GAINED = 0.05
# Means of thirds of an epoch of the same model differ by less from shuffle to shuffle.
# A model that keeps what it learns begins its second epoch far below that.
SAME = 0.25


@dataclass(frozen=True, slots=True)
class StartsOver:
    """The loss in the first and in the last third of an epoch, as in all of them."""

    first: float
    last: float


def _mean(values: Sequence[float]) -> float:
    """Not `statistics.fmean`, which raises where the sum is infinite."""
    return sum(values) / len(values)


def starts_over(training: Training) -> StartsOver | None:
    """How each epoch goes; None if something of one stays for the next."""
    if "True" not in (training.setting("shuffle"), training.setting("data.shuffle")):
        # Where the order stays the same, easy rows may come last in every epoch.
        return None
    profiles = [finite(epoch.loss_profile) for epoch in training.epochs]
    if len(profiles) < LEAST_EPOCHS or min(map(len, profiles)) < LEAST_PARTS:
        return None
    firsts = [_mean(one[: len(one) // 3]) for one in profiles]
    lasts = [_mean(one[-(len(one) // 3) :]) for one in profiles]
    gains = [first - last for first, last in zip(firsts, lasts, strict=True)]
    if firsts[0] <= 0 or min(gains) < GAINED * firsts[0]:
        return None
    usual = statistics.median(gains)
    spread = max(max(firsts) - min(firsts), max(lasts) - min(lasts))
    if spread > SAME * usual:
        return None
    return StartsOver(statistics.median(firsts), statistics.median(lasts))
