"""A callback that waited too little, or counted what it should not."""

import math
import statistics

from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.metric_direction import better
from tb_health_plugin.diagnosis.stopping.old_best import kept, old_best
from tb_health_plugin.diagnosis.stopping.watched import (
    LEAST_EPOCHS,
    REAL_PROGRESS,
    STEEP,
    Found,
    Watched,
)
from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts

# With so little patience one bad epoch of a noisy metric ends a training.
IMPATIENT = 1
# A setback is small if it takes back at most this part of the last gain.
SMALL_SETBACK = 0.5
# A callback that stops in the first of so many epochs did not mean to.
LEAST_PLANNED = 3
# By this factor a loss varies from batch to batch; beyond, it arrived or ran away.
USUAL_CHANGE = 2.0
# A training that went on for so many epochs shows that a callback can wait.
LEAST_FIRST_EPOCHS = 4


def impatient(watched: Watched) -> Found | None:
    """One small setback in a steep course, with next to no patience."""
    stop, mode, values = watched.stop, watched.mode, watched.values
    if stop.patience is None or stop.patience > IMPATIENT:
        return None
    mode = mode or watched.wants
    before = len(values) - 1 - max(1, stop.patience)
    if mode is None or before < LEAST_EPOCHS - 1:
        return None
    best = values[before]
    last_gain = watched.gain(values[before - 1], best, mode)
    all_gains = watched.gain(values[0], best, mode)
    setback = watched.gain(values[-1], best, mode)
    is_steep = all_gains > 0 and last_gain >= STEEP * all_gains
    is_real = all_gains >= REAL_PROGRESS * abs(values[0])
    if not (is_steep and is_real and 0 <= setback <= SMALL_SETBACK * last_gain):
        return None
    return (
        "patience",
        "likely",
        "gave up at the first small setback",
        f"{watched.name} had just gained {short(last_gain)} in one epoch and then "
        f"lost {short(setback)}; its patience is {stop.patience}.",
        Fix(
            title="Give it more patience",
            why="A metric varies from epoch to epoch. Ten epochs cost little against "
            "a training that is cut.",
            code=f'monitor="{watched.name}", patience=10, restore_best_weights=True',
        ),
    )


def counts_batches(watched: Watched) -> Found | None:
    """Patience that was meant in epochs and is used up in batches."""
    stop = watched.stop
    if "batch" not in (stop.function or "") or not stop.patience:
        return None
    epochs = [e for e in watched.training.epochs if e.epoch == stop.epoch]
    profile = finite(epochs[-1].loss_profile) if epochs else []
    quarter = len(profile) // 4
    if not quarter:
        return None
    first = statistics.median(profile[:quarter])
    last = statistics.median(profile[-quarter:])
    if first - last < 2 * REAL_PROGRESS * abs(first):
        return None
    return (
        "counts_batches",
        "likely",
        f"used up its patience of {stop.patience} in batches, not epochs",
        f"The loss fell from {short(first)} to {short(last)} within the epoch.",
        Fix(
            title="Compare at the end of an epoch",
            why="From batch to batch a loss varies more than it falls.",
            code="def on_epoch_end(self, epoch, logs=None):",
        ),
    )


def stopped_by_batches(training: Training, stop: facts.StopRequested) -> Found | None:
    """A callback of one's own that compared batches, and stopped in the first epoch.

    It still holds the loss of that moment: so the loss is what it looked at. One that
    reached a goal, or saw the loss run away, stops as its author wanted.
    """
    planned = training.started.planned_epochs or 0
    if (
        stop.is_keras
        or "batch" not in (stop.function or "")
        or len(training.epochs) > 1
    ):
        return None
    losses = finite(training.epochs[0].loss_profile) if training.epochs else []
    now = finite(training.metric("loss"))
    if planned < LEAST_PLANNED or len(losses) < LEAST_EPOCHS or not now:
        return None
    if not any(_is(now[-1], text) for text in stop.settings.values()):
        return None
    if not losses[0] / USUAL_CHANGE < losses[-1] < losses[0] * USUAL_CHANGE:
        return None
    steps = (training.epochs[0].last_step or 0) - (training.epochs[0].first_step or 0)
    held = ", ".join(f"{name} = {_short(text)}" for name, text in stop.settings.items())
    return (
        "counts_batches",
        "likely",
        f"compared single batches for {steps:,} steps",
        f"The loss of single batches went from {short(min(losses))} to "
        f"{short(max(losses))}, up and down; at the stop it held {held}.",
        Fix(
            title="Compare at the end of an epoch",
            why="From batch to batch a loss varies more than it falls.",
            code="def on_epoch_end(self, epoch, logs=None):",
        ),
    )


def _short(text: str) -> str:
    try:
        return short(float(text))
    except ValueError:
        return text


def _is(value: float, text: str) -> bool:
    try:
        return math.isclose(value, float(text), rel_tol=1e-6)
    except ValueError:
        return False


def stale(case: Case, training: Training, stop: facts.StopRequested) -> Found | None:
    """A callback that was used before, and stops a new training at once."""
    number = training.started.training or 0
    earlier = [one for one in case.trainings if (one.started.training or 0) < number]
    same = [
        one
        for one in earlier
        if any(old.callback == stop.callback for old in one.stops)
        and one.started.planned_epochs == training.started.planned_epochs
    ]
    if stop.callback is None or stop.is_keras or not same:
        return None
    if len(training.epochs) != 1 or len(same[0].epochs) < LEAST_FIRST_EPOCHS:
        return None
    then, now = finite(same[0].metric("loss")), finite(training.metric("loss"))
    if not then or not now or now[-1] < then[0] - (then[0] - then[-1]) / 2:
        return None
    return (
        "stale_state",
        "likely",
        "still remembered the training before",
        f"It let the first training run for {len(same[0].epochs)} epochs, to a loss "
        f"of {short(then[-1])}, and stopped this one after one, at {short(now[-1])}.",
        Fix(
            title="Begin anew in on_train_begin",
            why="The same callback object is used for several trainings.",
            code="def on_train_begin(self, logs=None):\n    self.wait = 0",
        ),
    )


def kept_old_best(training: Training, stop: facts.StopRequested) -> Found | None:
    """A callback of one's own that counted epochs since a best that was none."""
    old = None if stop.is_keras else old_best(training, stop, REAL_PROGRESS)
    if old is None:
        return None
    return (
        "best_not_kept",
        "likely",
        f"missed that {old.metric} had improved",
        f"{old.metric} went from {short(old.first)} to {short(old.reached)}; its best "
        f"was still {short(old.kept)}.",
        Fix(
            title="Keep the best value whenever there is a better one",
            why=f"{short(old.reached)} had been reached, and it compared with "
            f"{short(old.kept)}. See which way it compares.",
            code=kept(old.metric, better(old.metric) or "min"),
        ),
    )
