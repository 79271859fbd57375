"""The first NaN or infinite number of a training, and the kind of cause behind it.

Several rules ask about the same number. The kind is decided here once, so that only
one of them answers.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tb_health_plugin.diagnosis import inspections, learning_rate, loss_course
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.magnitudes import (
    began_huge,
    is_huge_loss,
    is_recurrent,
    is_unscaled,
    update_ratio,
)
from tb_health_plugin.diagnosis.safe_parts import must_be_data
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment
from tb_health_plugin.events import facts

# "data": it was in the batch. "jump": the batch is on another scale than those before.
# "start": the weights were bad before the training. "gradients": gradients were huge
# before any update. "growth": numbers grew from update to update. "operation": numbers
# were normal up to that step.
Origin = Literal["data", "jump", "start", "gradients", "growth", "operation"]

# Losses of single batches spread over two orders of magnitude in healthy runs with
# small batches and outliers. More than that just before the end is a blow-up.
GROWTH = 100.0
# A loss that is cut off (Keras clips probabilities at 1e-7) cannot grow that much;
# then its gradients must have, and the loss at least by this.
CUT_OFF_GROWTH = 2.0

# A healthy step changes weights by about a thousandth of their size; one that changes
# them by as much as they are leaves nothing of what they were.
WHOLE_UPDATE = 1.0

# Batches of one source differ by less; another unit or a forgotten scaling by more.
JUMP = 8.0

# A loss that falls by this share after the bad number has got over it.
GOES_ON = 0.02

_ABOUT_NUMBERS = r"\bnan\b|\binf\b|infinit|invalid loss|check_?numerics|not finite"


@dataclass(frozen=True, slots=True)
class BadNumber:
    """The first bad number of a training.

    Attributes:
        training: The training.
        fact: What was seen; made from epochs if nobody saw the step itself.
        at: When it was.
        lasting: Nothing good came after it.
        origin: The kind of cause.
        growth: How many times the loss had grown before it; None if unknown.
    """

    training: Training
    fact: facts.FirstBadNumber
    at: Moment
    lasting: bool
    origin: Origin
    growth: float | None

    @property
    def word(self) -> str:
        return "infinite" if self.fact.value == "inf" else "NaN"

    @property
    def step(self) -> int | None:
        """The step that went bad, counted from 0."""
        return self.fact.bad_step

    @property
    def is_hidden(self) -> bool:
        """Weights are bad, and no loss that was reported is.

        A rectifier may turn NaN into 0, on some machines.
        """
        losses = [
            loss
            for epoch in self.training.epochs
            for loss in (*epoch.loss_profile, epoch.metrics.get("loss", 0.0))
        ]
        return self.fact.seen_in == "weight" and all(map(math.isfinite, losses))


def first_bad(case: Case) -> BadNumber | None:
    """The bad number that the training shows, where it first came up."""
    training = main_training(case)
    if training is None:
        return None
    found = _in_training(training)
    if found is None or _is_new(training, found):
        return found
    for earlier in case.trainings:
        # The same model went on: the number was made in an earlier fit.
        inherited = _in_training(earlier)
        if inherited is not None and inherited.lasting:
            return inherited
    return found


def explained_ends(case: Case) -> tuple[str, ...]:
    """Ids of ends that come from a bad number, if this run ended so."""
    ids = ["callback_stop", "not_learning", "undertrained", "overfitting"]
    end = case.attempt.last(facts.RunEnded)
    left = case.training.ended if case.training else None
    for said in (end, left):
        text = f"{said.exception} {said.message}" if said else ""
        if re.search(_ABOUT_NUMBERS, text, re.IGNORECASE):
            ids += ["code_error", "callback_error"]
    return tuple(dict.fromkeys(ids))


def bad_fields(found: facts.FirstBadNumber | facts.BatchSeen) -> list[facts.Field]:
    return [field for field in found.fields if field.nonfinite_count]


def bad_batch(training: Training, bad_step: int | None) -> facts.BatchSeen | None:
    """A batch with bad numbers that was seen no later than that step."""
    for batch in training.batches:
        if bad_fields(batch) and (bad_step is None or batch.step <= bad_step):
            return batch
    return None


def waste(bad: BadNumber, case: Case) -> tuple[Evidence, ...]:
    """What was trained for nothing after the number had come up."""
    end = case.attempt.last_step
    if not bad.lasting or bad.step is None or end - bad.step < 2:
        return ()
    rest = end - bad.step - 1
    text = f"{rest:,} more steps were run after it, all of them for nothing."
    return (Evidence(text=text, strong=False, lane="loss", at=bad.at),)


def stop_at_nan(training: Training) -> Fix:
    """What ends a run at its first NaN, for `fit` or a loop of one's own."""
    code = "keras.callbacks.TerminateOnNaN()"
    if training.started.loop == "loop":
        code = "if not np.isfinite(loss): break"
    return Fix(
        title="Let it stop at the first NaN",
        why="Weights that are NaN stay NaN: every later step is lost time.",
        code=code,
    )


def _in_training(training: Training) -> BadNumber | None:
    fact = _earliest(training) or _from_epochs(training)
    if fact is None:
        return None
    at = training.at(fact, fact.epoch)
    if fact.bad_step is not None:
        at = Moment(step=fact.bad_step, epoch=at.epoch, wall_time=fact.wall_time)
    courses = (
        [*_losses_of_looks(training, fact), *fact.losses_before],
        loss_course.before_bad(training),
    )
    growth = max(filter(None, map(_growth, courses)), default=None)
    return BadNumber(
        training=training,
        fact=fact,
        at=at,
        lasting=_is_lasting(training, fact),
        origin=_origin(training, fact, growth),
        growth=growth,
    )


def _earliest(training: Training) -> facts.FirstBadNumber | None:
    found = training.bad_numbers
    return min(found, key=lambda bad: bad.bad_step or bad.step) if found else None


def _from_epochs(training: Training) -> facts.FirstBadNumber | None:
    """A loss that was reported as NaN, without anybody having seen the step."""
    before: list[float] = []
    for epoch in training.epochs:
        losses = epoch.loss_profile or (epoch.metrics.get("loss", 0.0),)
        good = [loss for loss in losses if math.isfinite(loss)]
        bad = [loss for loss in losses if not math.isfinite(loss)]
        reported = epoch.metrics.get("loss", 0.0)
        if not bad and math.isfinite(reported):
            before += good
            continue
        value = (bad or [reported])[0]
        return facts.FirstBadNumber(
            wall_time=epoch.started_at or epoch.wall_time,
            step=epoch.first_step or 0,
            bad_step=_step_of(epoch),
            training=epoch.training,
            epoch=epoch.epoch,
            seen_in="loss",
            value="nan" if math.isnan(value) else "inf",
            began_in="unknown",
            losses_before=tuple([*before, *good][-20:]),
        )
    return None


def _step_of(epoch: facts.EpochEnded) -> int | None:
    """The first step with a bad loss, if the epoch tells of each step."""
    first, last = epoch.first_step or 0, epoch.last_step or 0
    if len(epoch.loss_profile) != last - first:
        return None
    good = [math.isfinite(loss) for loss in epoch.loss_profile]
    return first + good.index(False) if False in good else None


def _is_new(training: Training, found: BadNumber) -> bool:
    first = training.started.first_step or 0
    return found.fact.began_in != "weights" or (found.step or first) > first


def _is_lasting(training: Training, fact: facts.FirstBadNumber) -> bool:
    """False if good numbers came after it: a step was skipped, or it was masked."""
    step = fact.bad_step if fact.bad_step is not None else fact.step
    after = [
        epoch.metrics["loss"]
        for epoch in training.epochs
        if "loss" in epoch.metrics and (epoch.first_step or 0) > step
    ]
    if after and not math.isfinite(after[-1]):
        return True
    later = [look for look in inspections.looks(training) if look.step > step]
    if later:
        return not _is_good(later[-1])
    if not after or training.setting("loss_scaling"):
        return not after
    # A loss can be finite on weights that are not: a rectifier may turn NaN into 0.
    # Then it stands still, and does not go on from where it was.
    before = finite(fact.losses_before) or loss_course.before_bad(training)[-8:]
    usual = statistics.median(before) if before else after[0]
    return after[-1] > usual - GOES_ON * abs(usual)


def _is_good(look: facts.Inspected) -> bool:
    """Its loss and its weights are finite; those that are not are told as infinite."""
    if look.loss is None or not math.isfinite(look.loss):
        return False
    return not any(math.isinf(weight) for weight in look.weight_norms)


def _losses_of_looks(training: Training, fact: facts.FirstBadNumber) -> list[float]:
    """Losses of looks before the steps that the fact itself tells of."""
    first = fact.steps_before[0] if fact.steps_before else fact.bad_step
    if first is None:
        return []
    seen = inspections.looks(training, first)
    return [look.loss for look in seen if look.loss is not None]


def _growth(values: Sequence[float]) -> float | None:
    """The highest of the last three beside the usual one of the first half."""
    good = [abs(value) for value in finite(values)]
    if len(good) < 2:
        return None
    usual = statistics.median(good[: len(good) // 2])
    return max(good[-3:]) / max(usual, 1e-12)


def _origin(
    training: Training, fact: facts.FirstBadNumber, growth: float | None
) -> Origin:
    if fact.began_in in ("input", "target"):
        return "data"
    # Where the search found another place, bad numbers in the data are usual there:
    # marks that the model masks.
    searched = fact.began_in not in (None, "unknown", "weights")
    in_data = bad_fields(fact) or bad_batch(training, fact.bad_step)
    if in_data and not searched:
        return "data"
    first = training.started.first_step or 0
    if fact.began_in == "weights" and (fact.bad_step or 0) <= first:
        return "start"
    calm = not _has_grown(training, fact, growth)
    if calm and must_be_data(training, fact):
        return "data"
    usual = fact.usual_input_scale
    if usual and fact.input_scale and fact.input_scale >= JUMP * usual:
        return "jump"
    if began_huge(training) and not is_unscaled(training):
        return "gradients"
    if calm:
        return "operation"
    if is_recurrent(training) and not learning_rate.is_high(training):
        return "gradients"
    return "growth"


def _has_grown(
    training: Training, fact: facts.FirstBadNumber, growth: float | None
) -> bool:
    if growth is not None and growth >= GROWTH:
        return True
    seen = [*fact.losses_before, *loss_course.before_bad(training)[-1:]]
    if any(is_huge_loss(training, loss) for loss in finite(seen)):
        return True
    by_gradient = _growth(fact.gradient_norms_before)
    if by_gradient is not None and by_gradient >= GROWTH:
        return growth is not None and growth >= CUT_OFF_GROWTH
    ratio = update_ratio(training, fact.bad_step)
    return ratio is not None and ratio >= WHOLE_UPDATE
