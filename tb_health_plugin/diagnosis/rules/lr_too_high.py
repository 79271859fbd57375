"""The learning rate is so high that updates destroy what the model has learned.

**What it means.** Each step changes the weights by about as much as they are, instead
of about a thousandth. The next loss is higher, its gradients are larger, the next step
throws the weights further. With SGD this ends in NaN within a few steps. Adam bounds
its steps, so there the loss jumps about above its starting level and never settles, or
units die and the loss stands still.

**How we know.** Loss, gradients or weights grew by orders of magnitude from step to
step before the first bad number while the data was normal; or updates as large as the
weights were seen, and the loss is no better than before training; or the rate is far
above the usual one, and the loss stays far above that of a constant answer.

**What it is mistaken for.** NaN in the data (there one batch is enough, and it holds
the NaN), an unstable operation (there all was normal before) and gradients that explode
(there they are huge before the first update). Data that was never scaled makes any
learning rate too high: if it is named too, scale it first.

**What to do.** Lower the learning rate, usually by a factor of ten or more; warm it up
over the first steps; clip gradients to bound single steps.
"""

import itertools
import math

from tb_health_plugin.diagnosis import inspections, learning_rate, loss_course
from tb_health_plugin.diagnosis.bad_numbers import (
    BadNumber,
    explained_ends,
    first_bad,
    waste,
)
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.figures import short, times
from tb_health_plugin.diagnosis.learning import learning_of, main_training
from tb_health_plugin.diagnosis.magnitudes import is_unscaled, update_ratio
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Verdict,
)

# Ten times the 0.01-0.03 that Adam at 0.01 does in its first steps, and hundreds of
# times the usual 0.001. Seen at this size in every run that never settled.
LARGE_UPDATE = 0.3

# A run that ends above this share of the loss it began with has learned nothing.
ABOVE_START = 0.9

# The first steps throw a loss up when updates are that large; noise of batches does
# less on the mean of many.
THROWN_UP = 1.5

# A finite blow-up: no curriculum or annealing does that to the mean of a quarter run.
BLOWN_UP = 1_000.0

# A whole quarter of a run this far above both its start and a constant answer: noise
# of batches does less, and what is learned slowly stays below.
FAR_WORSE = 1.5

# From here on the weights have their size.
SETTLED_STEPS = 30

# Fewer steps than this are no run to judge.
LEAST_STEPS = 30

_EXPLAINS = (
    "nan_op",
    "exploding_gradients",
    "vanishing_gradients",
    "dead_relu",
)


def judge(case: Case) -> Outcome:
    bad = first_bad(case)
    if bad is not None:
        grown = bad.lasting and bad.origin == "growth"
        return _blew_up(case, bad) if grown else None
    training = main_training(case)
    if training is None or training.steps < LEAST_STEPS:
        return None
    found = _never_settles(case, training)
    if found is None and not training.inspections:
        return inspections.gradients_not_measured(case)
    return found


def _blew_up(case: Case, bad: BadNumber) -> Verdict:
    training = bad.training
    rate = learning_rate.used(training)
    end = "became infinite" if bad.word == "infinite" else "became NaN"
    step = "" if bad.step is None else f" at step {bad.step:,}"
    headline = f"The loss {_course(bad)}, then {end}{step}"
    if rate is not None:
        headline += f" (learning rate {short(rate)})"
    high = learning_rate.is_high(training)
    return Verdict(
        id="lr_too_high",
        detail="blew_up",
        severity="critical",
        confidence=_confidence(training, high),
        headline=headline,
        because="Loss and gradients grew from update to update, and no bad number was "
        "seen in the data."
        if _lowest(bad) is None
        else "The loss ran away below zero, faster from update to update, and no bad "
        "number was seen in the data.",
        cause_at=_start(bad),
        stopped_at=case.stopped_at,
        evidence=(
            *_growth_evidence(bad),
            *_update_evidence(training, bad.step, bad.at),
            *_rate_evidence(training, bad.at),
            *_scale_evidence(training, bad.at),
            *waste(bad, case),
        ),
        fixes=_fixes(training, (update_ratio(training, bad.step) or 0) >= LARGE_UPDATE),
        chip="Rate too high",
        explains=(*_EXPLAINS, *explained_ends(case)),
    )


def _course(bad: BadNumber) -> str:
    """How the loss went to its end, as the middle of a sentence."""
    low = _lowest(bad)
    if low is not None:
        return f"fell without end, to {short(low)}"
    growth = bad.growth or 0.0
    steps = len(bad.fact.steps_before)
    by = f" {times(growth)} in {steps:,} steps" if growth > 1 and steps else ""
    return f"grew{by}"


def _lowest(bad: BadNumber) -> float | None:
    """Where the loss was last, if it ran away below zero; else None."""
    losses = finite(bad.fact.losses_before)
    return losses[-1] if losses and losses[-1] == min(losses) < 0 else None


def _never_settles(case: Case, training: Training) -> Verdict | None:
    began, now = loss_course.start(training), loss_course.late(training)
    losses = finite(loss_course.course(training))
    if began is None or now is None or len(losses) < loss_course.LEAST_POINTS:
        return None
    if now < began - (1 - ABOVE_START) * abs(began):
        return None
    if max(losses) < began + (THROWN_UP - 1) * abs(began):
        return None
    high = learning_rate.is_high(training)
    # Weights that begin near 0 are changed by more than they are in the first steps
    # of any training. At a normal rate only later steps count.
    settled = (training.started.first_step or 0) + SETTLED_STEPS
    ratio = update_ratio(training, since=0 if high else settled)
    level = _constant_answer(training)
    worse = high and level is not None and now >= FAR_WORSE * max(level, began)
    if ratio is None and not high:
        return None
    if ratio is not None and ratio < LARGE_UPDATE and not worse:
        return None
    large = ratio is not None and ratio >= LARGE_UPDATE
    blown = now >= BLOWN_UP * abs(began)
    at = Moment(step=training.started.first_step or 0, epoch=1)
    rate = learning_rate.used(training)
    words = "" if rate is None else f" (learning rate {short(rate)})"
    return Verdict(
        id="lr_too_high",
        detail="never_settles",
        severity="critical" if blown else "warning",
        confidence="possible" if ratio is None else _confidence(training, high),
        headline=f"The loss went from {short(began)} up to {short(max(losses))} and "
        f"never settled{words}",
        because="The loss was thrown up and ended no lower than it began"
        + _why(ratio, large),
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            *_update_evidence(training, None, at),
            Evidence(
                text=f"The loss began at {short(began)}, rose to "
                f"{short(max(losses))} and was {short(now)} in the last quarter.",
                lane="loss",
                at=at,
            ),
            *_level_evidence(level if worse else None, now, at),
            *_rate_evidence(training, at),
            *_scale_evidence(training, at),
        ),
        fixes=_fixes(training, large),
        chip="Rate too high",
        explains=(*_EXPLAINS, *explained_ends(case), "lr_too_low", "not_learning"),
    )


def _why(ratio: float | None, large: bool) -> str:
    if ratio is None:
        return " at a rate far above the usual one. Updates were not looked at."
    if large:
        return ", and updates as large as the weights were seen."
    return ", far worse than a constant answer, at a rate far above the usual one."


def _constant_answer(training: Training) -> float | None:
    """The loss of a model that ignores its inputs; None if nobody knows it."""
    base = learning_of(training).baseline
    return base.loss if base and base.loss and base.loss > 0 else None


def _level_evidence(level: float | None, now: float, at: Moment) -> list[Evidence]:
    if level is None:
        return []
    text = (
        f"That is {times(now / level)} the loss of a constant answer ({short(level)}): "
        "training made it worse than none."
    )
    return [Evidence(text=text, lane="loss", at=at)]


def _confidence(training: Training, high: bool) -> Confidence:
    if is_unscaled(training):
        return "possible"
    # For an optimizer of one's own no rate is usual; not knowing which says nothing.
    is_own = bool(training.setting("optimizer")) and not learning_rate.usual(training)
    return "likely" if high or is_own else "possible"


def _start(bad: BadNumber) -> Moment:
    """The step from which the loss grew."""
    pairs = list(zip(bad.fact.steps_before, bad.fact.losses_before, strict=False))
    step = bad.at.step
    for (earlier, before), (_, after) in itertools.pairwise(pairs):
        if math.isfinite(before) and abs(after) > 2 * abs(before):
            step = earlier
            break
    return Moment(step=step, epoch=bad.at.epoch, wall_time=bad.at.wall_time)


def _growth_evidence(bad: BadNumber) -> list[Evidence]:
    found = []
    for what, values in (
        ("loss", bad.fact.losses_before),
        ("gradient norm", bad.fact.gradient_norms_before),
    ):
        last = finite(values)[-5:]
        if len(last) > 1 and max(map(abs, last)) > abs(last[0]):
            row = ", ".join(short(value) for value in last)
            text = f"The {what} of the last steps before it: {row}."
            found.append(Evidence(text=text, lane="loss", at=bad.at))
    return found


def _update_evidence(
    training: Training, before: int | None, at: Moment
) -> list[Evidence]:
    ratio = update_ratio(training, before)
    if ratio is None or ratio < LARGE_UPDATE:
        return []
    text = (
        f"One step changed the weights by {times(ratio)} their own size; about 0.001x "
        "is usual."
    )
    return [Evidence(text=text, at=at)]


def _rate_evidence(training: Training, at: Moment) -> list[Evidence]:
    rate, usual = learning_rate.used(training), learning_rate.usual(training)
    if rate is None or usual is None or rate <= usual:
        return []
    text = (
        f"The learning rate is {short(rate)}; {learning_rate.optimizer(training)} "
        f"uses {usual:g} by default."
    )
    return [Evidence(text=text, strong=False, at=at)]


def _scale_evidence(training: Training, at: Moment) -> list[Evidence]:
    if not is_unscaled(training):
        return []
    text = "The data holds numbers above 100: unscaled data makes gradients large, too."
    return [Evidence(text=text, strong=False, at=at)]


def _fixes(training: Training, large: bool = True) -> tuple[Fix, ...]:
    seen = "Updates were as large as the weights."
    if not large:
        seen = "Steps of this size overshoot."
    rate, lower = learning_rate.used(training), learning_rate.better(training)
    fixes = []
    if rate is not None and lower is not None:
        fixes.append(
            Fix(
                title=f"Lower the learning rate from {short(rate)} to {short(lower)}",
                why=f"{seen} If it then learns too slowly, raise it by a factor of 3 "
                "at a time.",
                code=learning_rate.line(training, lower),
            )
        )
    else:
        fixes.append(
            Fix(
                title="Lower the learning rate by a factor of 10",
                why=seen,
                code="model.optimizer.learning_rate = 0.1 * float("
                "model.optimizer.learning_rate)",
            )
        )
    if training.number("optimizer.clipnorm") is None:
        fixes.append(
            Fix(
                title="Or bound single steps by clipping gradients",
                why="It keeps one bad step from ruining the weights. It costs almost "
                "nothing, but hides a rate that is far too high.",
                code=learning_rate.line(training, lower, clipnorm="1.0"),
            )
        )
    return tuple(fixes)


RULE = Rule(id="lr_too_high", judge=judge)
