"""A callback stopped a training that should have gone on.

**What it means.** `stop_training` was set while the training was still getting better,
because the callback looked at the wrong thing: it took better for worse (`mode`), it
waited for a value that cannot be reached (`baseline`), it counted real progress for
none (`min_delta`, a metric that never moves), it gave up at the first small setback
(`patience`), or it still remembered the training before.

**How we know.** The callback's own settings are compared with the metric it watched.
A stop counts only if that metric, by its name or by the loss beside it, was still
getting better. Early stopping that stops a metric that no longer improves is as its
author wanted, and so is a callback of your own that reached its goal: neither is found
here.

**What it is mistaken for.** Too few epochs, overfitting, a crash.

**What to do.** Correct the setting that is named, and train on from where it stopped.
"""

import itertools
import math
import statistics
from collections.abc import Sequence

from tb_health_plugin.diagnosis import stops
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.metric_direction import Direction, better
from tb_health_plugin.diagnosis.old_best import old_best
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Verdict
from tb_health_plugin.events import facts

# So much of a value is progress that somebody wants, not noise of batches.
REAL_PROGRESS = 0.05
# A least step this large beside the metric itself is one that hardly any epoch makes;
# if it ended the run in this part of its epochs, nobody meant it.
ABSURD = 0.5
SOON = 0.2
# With so little patience one bad epoch of a noisy metric ends a training.
IMPATIENT = 1
# A setback is small if it takes back at most this part of the last gain.
SMALL_SETBACK = 0.5
# A gain is steep if it is at least this part of all that was gained so far.
STEEP = 0.1
# Fewer epochs than this show no course.
LEAST_EPOCHS = 3
# A training that went on for so many epochs shows that a callback can wait.
LEAST_FIRST_EPOCHS = 4
LONGEST_HEADLINE = 100

# These stop a run for what it was told to stop for.
_WANTED = ("TerminateOnNaN", "HealthCallback")


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        for stop in reversed(training.stops):
            if not _cost_epochs(training) or stop.callback in _WANTED:
                continue
            found = _judge(case, training, stop)
            if found is not None:
                return found
    return None


def _cost_epochs(training: Training) -> bool:
    planned = training.started.planned_epochs
    done = training.ended.epochs_done if training.ended else None
    if planned is None or done is None:
        return False
    return done < planned - (training.started.initial_epoch or 0)


def _judge(case: Case, training: Training, stop: facts.StopRequested) -> Verdict | None:
    if stop.monitor:
        watched = _Watched(training, stop)
        found = (
            _wrong_way(watched)
            or _unreachable(watched)
            or _too_strict(watched)
            or _never_moves(watched)
            or _impatient(watched)
            or _counts_batches(watched)
        )
    else:
        found = _stale(case, training, stop) or _kept_old_best(training, stop)
    return _verdict(case, training, stop, *found) if found else None


# A detail, how sure, the reason for the headline, evidence, what to change.
_Found = tuple[str, Confidence, str, str, Fix]


class _Watched:
    """A metric as a callback watched it.

    Attributes:
        values: One per epoch, up to the stop.
        mode: How the callback compared, as far as that is known.
        wants: What is better for this metric, as far as its name tells.
    """

    def __init__(self, training: Training, stop: facts.StopRequested) -> None:
        self.training = training
        self.stop = stop
        self.name = stop.monitor or ""
        self.values = finite(training.metric(self.name))
        self.wants = better(self.name)
        self.mode = self._mode()

    def setting(self, name: str) -> float | None:
        try:
            value = float(self.stop.settings.get(name, ""))
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def gain(self, earlier: float, later: float, direction: Direction) -> float:
        """How much better the later value is; negative if it is worse."""
        return earlier - later if direction == "min" else later - earlier

    def epochs_since_best(self, direction: Direction) -> int:
        """Epochs after the first that had the best value."""
        best = max(self.values) if direction == "max" else min(self.values)
        return len(self.values) - 1 - self.values.index(best)

    def _mode(self) -> Direction | None:
        told: dict[str, Direction] = {"min": "min", "max": "max"}
        mode = told.get(self.stop.settings.get("mode", ""))
        if mode is not None:
            return mode
        # Keras gives the smallest step the sign of the direction.
        step = self.setting("min_delta")
        if step:
            return "max" if step > 0 else "min"
        best = self.stop.best
        if best is None or not self.stop.is_keras or len(set(self.values)) < 2:
            return None
        if _same(best, min(self.values)):
            return "min"
        return "max" if _same(best, max(self.values)) else None


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


def _wrong_way(watched: _Watched) -> _Found | None:
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
    is_recent = any(_same(one, reached) for one in values[-(patience + 1) :])
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
        ),
    )


def _unreachable(watched: _Watched) -> _Found | None:
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


def _too_strict(watched: _Watched) -> _Found | None:
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


def _never_moves(watched: _Watched) -> _Found | None:
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


def _impatient(watched: _Watched) -> _Found | None:
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


def _counts_batches(watched: _Watched) -> _Found | None:
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


def _stale(case: Case, training: Training, stop: facts.StopRequested) -> _Found | None:
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


def _kept_old_best(training: Training, stop: facts.StopRequested) -> _Found | None:
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


def _verdict(
    case: Case,
    training: Training,
    stop: facts.StopRequested,
    detail: str,
    confidence: Confidence,
    reason: str,
    seen: str,
    fix: Fix,
) -> Verdict:
    at = training.at(stop, stop.epoch)
    planned = training.started.planned_epochs or 0
    planned -= training.started.initial_epoch or 0
    done = len(training.epochs)
    who = stop.callback or stops.who(stop)
    stopped = f"stopped after {done:,} of {planned:,} epochs"
    headline = f"{who} {reason}, and {stopped}"
    if len(headline) > LONGEST_HEADLINE:
        headline = f"{who} {stopped} by mistake"
    known = {
        "callback": stop.callback,
        "metric": stop.monitor,
        "file": stop.file,
        "line": stop.line,
    }
    return Verdict(
        id="callback_stop",
        detail=detail,
        severity="warning",
        confidence=confidence,
        headline=headline,
        because="Its settings and the metric that it watched do not belong together.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={name: value for name, value in known.items() if value is not None},
        evidence=(
            Evidence(text=seen, lane="loss", at=at),
            Evidence(
                text=f"{stops.who(stop)} set stop_training in epoch "
                f"{(stop.epoch or 0) + 1:,}.",
                strong=False,
                at=at,
            ),
        ),
        fixes=(fix,),
        chip="Stopped by mistake",
        explains=("undertrained",),
    )


RULE = Rule(id="callback_stop", judge=judge)
