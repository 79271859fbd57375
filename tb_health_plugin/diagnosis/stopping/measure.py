"""A callback that measured progress wrongly: its mode, its least step, its metric."""

import itertools
from collections.abc import Sequence

from tb_health_plugin.diagnosis.case import Training, finite
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.stopping.old_best import kept
from tb_health_plugin.diagnosis.stopping.watched import (
    LEAST_EPOCHS,
    REAL_PROGRESS,
    STEEP,
    Found,
    Watched,
    same,
)
from tb_health_plugin.diagnosis.verdict import Fix

# A least step this large beside the metric itself is one that hardly any epoch makes;
# if it ended the run in this part of its epochs, nobody meant it.
ABSURD = 0.5
SOON = 0.2


def wrong_way(watched: Watched) -> Found | None:
    """It took better for worse, or did not keep what was best."""
    values, wants, stop = watched.values, watched.wants, watched.stop
    if wants is None or len(values) < 2:
        return None
    if watched.gain(values[0], values[-1], wants) <= 0:
        return None
    reached = max(values) if wants == "max" else min(values)
    course = f"{watched.name} went from {short(values[0])} to {short(values[-1])}"
    word = "higher" if wants == "max" else "lower"
    if watched.mode is not None and watched.mode != wants:
        return (
            "mode",
            "proven",
            f"took better {watched.name} for worse",
            f"{course}, and {word} is better; it was told the opposite "
            f"(mode {watched.mode}).",
            Fix(
                title=f'Set mode="{wants}"',
                why=f"{watched.name} is better when it is {word}.",
                code=f'monitor="{watched.name}", mode="{wants}"',
            ),
        )
    patience = stop.patience or 0
    is_recent = any(same(one, reached) for one in values[-(patience + 1) :])
    if stop.best is None or stop.is_keras or not is_recent:
        return None
    if watched.gain(stop.best, reached, wants) <= REAL_PROGRESS * abs(stop.best):
        return None
    return (
        "best_not_kept",
        "likely",
        f"missed that {watched.name} had improved",
        f"{course}; its best was still {short(stop.best)}.",
        Fix(
            title="Keep the best value whenever there is a better one",
            why=f"{short(reached)} had been reached, and it compared with "
            f"{short(stop.best)}.",
            code=kept(watched.name, wants),
        ),
    )


def unreachable(watched: Watched) -> Found | None:
    """It waited for a value that was not near."""
    baseline, mode, values = watched.setting("baseline"), watched.mode, watched.values
    if baseline is None or mode is None or len(values) < 2:
        return None
    if any(watched.gain(baseline, one, mode) > 0 for one in values):
        return None
    since = watched.epochs_since_best(mode)
    if since > 1 or since >= (watched.stop.patience or 0):
        # Without a baseline it would have stopped here, or soon.
        return None
    if watched.gain(values[0], values[-1], mode) < REAL_PROGRESS * abs(values[0]):
        return None
    return (
        "baseline",
        "likely",
        f"waited for {watched.name} of {short(baseline)}, which was not near",
        f"{watched.name} was still getting better, at {short(values[-1])}; the "
        f"baseline is {short(baseline)}.",
        Fix(
            title="Leave the baseline away, or set one that can be reached",
            why="Until the baseline is passed, progress does not count.",
            code="baseline=None",
        ),
    )


def too_strict(watched: Watched) -> Found | None:
    """It counted real progress for none."""
    step, mode, values = watched.setting("min_delta"), watched.mode, watched.values
    patience = watched.stop.patience or 0
    if not step or mode is None or len(values) < 2:
        return None
    planned = watched.training.started.planned_epochs or 0
    absurd = abs(step) >= ABSURD * abs(values[0]) > 0 and len(values) <= SOON * planned
    if len(values) < LEAST_EPOCHS and not absurd:
        return None
    recent = values[-(patience + 1) :] if patience else values[-2:]
    gains = [
        watched.gain(earlier, later, mode)
        for earlier, later in itertools.pairwise(recent)
    ]
    total = sum(gains)
    least = 0.0 if absurd else REAL_PROGRESS * abs(recent[0])
    if min(gains) <= 0 or total < least:
        return None
    return (
        "min_delta",
        "likely",
        f"counted real progress of {watched.name} for none",
        f"{watched.name} got better in each of the last {len(gains)} epochs, by "
        f"{short(total)} in all; less than {short(abs(step))} does not count.",
        Fix(
            title="Lower min_delta",
            why=f"An epoch brings about {short(total / len(gains))} here.",
            code=f"min_delta={short(total / len(gains) / 10)}",
        ),
    )


def never_moves(watched: Watched) -> Found | None:
    """It watched a metric that says nothing here."""
    values = watched.values
    if len(values) < 2 or len(set(values)) > 1 or watched.name in ("loss", "val_loss"):
        return None
    if not _still_falls(watched.training):
        return None
    return (
        "monitor",
        "likely",
        f"watched {watched.name}, which never moved",
        f"{watched.name} was {short(values[0])} in all {len(values)} epochs, while "
        "the loss fell.",
        Fix(
            title="Watch something that moves",
            why="The loss still fell when it was stopped.",
            code=f'monitor="{_loss_name(watched.training)}"',
        ),
    )


def _still_falls(training: Training) -> bool:
    losses: Sequence[float] = finite(training.metric(_loss_name(training)))
    if len(losses) < 2:
        return False
    falls = all(b < a for a, b in itertools.pairwise(losses))
    return falls and losses[-2] - losses[-1] > STEEP * (losses[0] - losses[-1])


def _loss_name(training: Training) -> str:
    return "val_loss" if "val_loss" in training.metric_names else "loss"
