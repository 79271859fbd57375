"""The learning rate is so low that the weights hardly move.

**What it means.** Gradients are there and point somewhere, but each step goes so small
a way that all steps of the run together changed the weights by next to nothing.

**How we know.** At single steps the size of the update is compared with the size of
the weights. Times the number of steps, that is the most the weights can have moved. If
that is next to nothing, gradients are there, and a usual learning rate would move them,
the rate is the reason. Warm-ups, rates that decayed after something was learned and
models that were good from the start are left alone.

**What it is mistaken for.** Vanishing gradients (a usual rate would not help there),
frozen weights, labels without a pattern.

**What to do.** Raise the learning rate tenfold until the loss becomes restless, then go
back one step.
"""

import math
import statistics

from tb_health_plugin.diagnosis import inspections, learning_rate
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.learning import (
    LEAST_EPOCHS,
    LEAST_STEPS,
    Learning,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Verdict
from tb_health_plugin.events import facts

# All steps together moved the weights by less than this share of their size. Networks
# that learn move by a large part of it.
MOVED = 0.03
# The same for a loss that stands still above the level of good results.
MOVED_STANDING = 0.01
STILL = 0.03
# A loss that fell by less than this in a whole run crawls.
CRAWLED = 0.2
# Biases of a trained model are a few hundredths and more.
FRESH_BIAS = 0.01
# Better than this, a loss that stands still may have arrived.
GOOD_ACCURACY = 0.9
GOOD_LOSS = 0.3
# A good step moves weights by about a thousandth of their size (Karpathy, "A Recipe
# for Training Neural Networks" and CS231n).
GOOD_STEP = 1e-3
# If even this rate would make no good step, gradients are too small, not the rate.
HIGHEST_RATE = 0.5
# Without a look at weights, only rates that nobody uses tell anything.
TINY_RATE = 1e-6
# Steps of plain SGD shrink with the gradients, too.
TINY_RATE_OF_SGD = 1e-5
# A rate that fell below this part of what it was has been used up.
DECAYED = 0.01
# And at this no step changes anything.
USED_UP = 1e-4
# So many looks after that, and parts of the loop whose losses are known.
LEAST_LOOKS = 2
LEAST_PARTS = 4
# So many numbers show that a rate is 0 and not just beginning to grow.
LEAST_RATES = 2
USUAL_RATE = 1e-3
# A rate that grew by this factor was warming up.
WARM_UP = 3.0

# Optimizers whose steps are bounded by the learning rate.
_BOUNDED = ("Adam", "AdamW", "Adamax", "Nadam", "RMSprop", "Adagrad", "Lion")
_EXPLAINS = ("not_learning", "undertrained")


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None or training.steps < LEAST_STEPS:
        return None
    learned = learning_of(training)
    if _was_zero(training):
        return _zero(case, training, learned)
    if len(training.epochs) < 2:
        gone = _gone_in_a_loop(training)
        if gone is None:
            return None
        return _verdict(case, training, learned, _rates(training), *gone)
    stood_still = _stood_still(training, learned)
    if (
        learned.state not in ("no", "slow")
        and not stood_still
        and not _crawls(training, learned)
    ):
        return None
    rates = _rates(training)
    if not rates or max(rates) <= 0 or rates[-1] > WARM_UP * rates[0]:
        return None
    found = _used_up(training, learned)
    step = _usual_step(training)
    if found is None and step is None:
        found = _by_rate(training, rates)
    elif found is None and step is not None:
        is_known_bad = learned.state in ("no", "slow")
        most = MOVED_STANDING if stood_still and not is_known_bad else MOVED
        found = _by_movement(training, rates, step, most)
    if found is None:
        return None
    confidence, evidence, better = found
    if learned.state not in ("no", "slow"):
        confidence = "possible"
    return _verdict(case, training, learned, rates, confidence, evidence, better)


def _was_zero(training: Training) -> bool:
    """Nothing was seen of the rate but 0, and no step moved anything."""
    looks = [i for i in training.inspections if i.learning_rate is not None]
    rates = [i.learning_rate for i in looks]
    rates += [e.learning_rate for e in training.epochs if e.learning_rate is not None]
    moved = [u for i in looks for u in i.update_norms if u > 0]
    return len(rates) >= LEAST_RATES and not any(rates) and not moved


def _zero(case: Case, training: Training, learned: Learning) -> Verdict:
    given = training.number("optimizer.learning_rate") or 0.0
    names = (training.setting("callbacks") or "").split(", ")
    scheduler = next((name for name in names if "Schedule" in name), None)
    looks = [i for i in training.inspections if i.learning_rate is not None]
    evidence = []
    if training.epochs:
        text = f"It was 0 at the end of each of {len(training.epochs):,} epochs."
        evidence.append(Evidence(text=text, at=training.at(training.epochs[-1])))
    if any(look.update_norms for look in looks):
        text = "No weight moved at any look, though gradients are there."
        evidence.append(Evidence(text=text, lane="gradient_norm"))
    if given and scheduler:
        text = f"The optimizer was given {given:.2g}; {scheduler} changes it."
        evidence.append(Evidence(text=text))
    if learned.start is not None and learned.end is not None:
        text = f"The loss went from {learned.start:.4g} to {learned.end:.4g} in all."
        evidence.append(Evidence(text=text, lane="loss"))
    planned = training.started.planned_epochs or len(training.epochs)
    better = given or USUAL_RATE
    fix = Fix(
        title=f"Give the optimizer a rate above 0, such as {better:g}",
        why="A rate of 0 leaves all weights as they are.",
        code=learning_rate.line(training, better),
    )
    if scheduler:
        fix = Fix(
            title=f"Let {scheduler} return fractions",
            why="A division of whole numbers (//) or int(...) makes 0 of each small "
            "rate. Print what it returns for a few epochs.",
            code=f"lambda epoch: {better:g} * ({planned} - epoch) / {planned}",
        )
    return Verdict(
        id=RULE.id,
        detail="zero",
        severity="warning",
        confidence="proven",
        headline="The learning rate was 0 all the time: no step changed a weight",
        chip="Rate too low",
        because="A step is the gradient times the rate.",
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        evidence=tuple(evidence),
        fixes=(fix,),
        explains=(*_EXPLAINS, "weights_not_updated"),
    )


def _stood_still(training: Training, learned: Learning) -> bool:
    """A fresh training whose loss did not change, and is not good yet."""
    if training.started.training or training.started.initial_epoch:
        # Going on where another one ended, a loss may well be settled.
        return False
    if learned.state == "yes" and not _is_fresh(training):
        return False
    start, end, base = learned.start, learned.end, learned.baseline
    if start is None or end is None or base is None or len(training.epochs) < 4:
        return False
    if learned.accuracies and learned.accuracies[-1] >= GOOD_ACCURACY:
        return False
    if base.loss is not None and end < GOOD_LOSS * base.loss:
        return False
    first = learned.losses[0]
    return learned.state != "lost" and abs(first - end) <= STILL * abs(first)


def _crawls(training: Training, learned: Learning) -> bool:
    """A fresh training, not known to be good, whose loss fell only a little."""
    if learned.state != "unknown" or learned.baseline is None:
        return False
    if len(learned.losses) < LEAST_EPOCHS or not _is_fresh(training):
        return False
    first, last = learned.losses[0], learned.losses[-1]
    return first > 0 and 0 < first - last < CRAWLED * first


def _is_fresh(training: Training) -> bool:
    """Biases are still about 0, where they begin: the model was not trained before."""
    looks = [look for look in training.inspections if look.weight_norms]
    if not looks:
        return False
    pairs = zip(training.started.variables, looks[-1].weight_norms, strict=False)
    sizes = [
        norm / math.sqrt(variable.size)
        for variable, norm in pairs
        if variable.trainable is not False
        and variable.size
        and variable.size > 0
        and variable.name.endswith(("bias", "beta"))
    ]
    return bool(sizes) and all(size < FRESH_BIAS for size in sizes)


def _rates(training: Training) -> list[float]:
    looks = [i.learning_rate for i in training.inspections]
    ends = [e.learning_rate for e in training.epochs]
    rates = finite([r for r in (looks if any(looks) else ends) if r is not None])
    given = training.number("optimizer.learning_rate")
    return rates or ([given] if given is not None else [])


def _usual_step(training: Training) -> float | None:
    """Size of an update beside the size of the weights, as a median of looks."""
    found = []
    for look in training.inspections:
        updates = look.update_norms or _expected_updates(training, look)
        variables = training.started.variables
        looked = zip(updates, look.weight_norms, variables, strict=False)
        known = [
            (u, w)
            for u, w, variable in looked
            if variable.trainable is not False
            and math.isfinite(u)
            and math.isfinite(w)
            and w > 0
        ]
        weight = math.sqrt(sum(w * w for _, w in known))
        if weight > 0 and (look.gradient_norm or 0) > 0:
            found.append(math.sqrt(sum(u * u for u, _ in known)) / weight)
    return statistics.median(found) if found else None


def _expected_updates(training: Training, look: facts.Inspected) -> tuple[float, ...]:
    """The most an update can be, where only gradients were looked at."""
    rate = look.learning_rate
    kind = training.setting("optimizer") or ""
    if rate is None:
        return ()
    if kind in _BOUNDED:
        # Such a step moves every weight by at most about the learning rate.
        sizes = (max(one.size or 0, 0) for one in training.started.variables)
        return tuple(rate * math.sqrt(size) for size in sizes)
    if kind == "SGD":
        momentum = min(training.number("optimizer.momentum") or 0.0, 0.999)
        return tuple(rate * norm / (1 - momentum) for norm in look.gradient_norms)
    return ()


def _by_movement(
    training: Training, rates: list[float], step: float, most: float
) -> tuple[Confidence, list[Evidence], float] | None:
    moved = step * training.steps
    # No movement at all is a frozen model: others speak of it.
    if not 0 < moved < most:
        return None
    rate = statistics.median(rates)
    better = rate * GOOD_STEP / step
    if better > HIGHEST_RATE:
        return None
    gradient = statistics.median(
        [i.gradient_norm for i in training.inspections if i.gradient_norm] or [0.0]
    )
    evidence = [
        Evidence(
            text=f"A step changes the weights by about {step:.1g} of their size; all "
            f"{training.steps:,} steps together by at most {_share(moved)}.",
            lane="gradient_norm",
            at=training.at(training.inspections[-1]),
        ),
        Evidence(
            text=f"Gradients are there (norm {gradient:.2g}): it is the rate that "
            "makes steps small.",
            lane="gradient_norm",
        ),
    ]
    return "likely", evidence, better


def _used_up(
    training: Training, learned: Learning
) -> tuple[Confidence, list[Evidence], float] | None:
    """In its first half the rate fell to nothing, and nothing happened since."""
    if learned.state not in ("no", "slow"):
        return None
    ends = [e for e in training.epochs if e.learning_rate is not None]
    rates = [e.learning_rate or 0.0 for e in ends]
    first = max([*rates, training.number("optimizer.learning_rate") or 0.0])
    gone = next((n for n, rate in enumerate(rates) if rate < USED_UP * first), None)
    if gone is None or gone > len(ends) / 2:
        return None
    since = finite([e.metrics.get("loss", math.nan) for e in ends[gone:]])
    if len(since) < 2 or max(since) - min(since) > STILL * abs(since[0]):
        return None
    text = (
        f"From epoch {(ends[gone].epoch or 0) + 1} on the rate was at most "
        f"{rates[gone]:.1g}, and the loss stood at {since[-1]:.4g}."
    )
    return (
        "likely",
        [Evidence(text=text, lane="loss", at=training.at(ends[gone]))],
        first,
    )


def _gone_in_a_loop(
    training: Training,
) -> tuple[Confidence, list[Evidence], float] | None:
    """The same for a loop that tells no epochs: what its looks and its losses say."""
    looks = [
        one for one in inspections.looks(training) if one.learning_rate is not None
    ]
    profile = finite(training.epochs[0].loss_profile) if training.epochs else []
    first = max((one.learning_rate or 0.0 for one in looks), default=0.0)
    gone = [one for one in looks if (one.learning_rate or 0.0) < USED_UP * first]
    if (
        len(gone) < LEAST_LOOKS
        or len(profile) < LEAST_PARTS
        or gone != looks[-len(gone) :]
    ):
        return None
    began = training.started.first_step or 0
    if gone[0].step - began > training.steps / 2:
        return None
    start, since = profile[0], profile[len(profile) // 2 :]
    if statistics.median(since) < (1 - CRAWLED) * start:
        return None
    text = (
        f"From step {gone[0].step:,} or before the rate was at most "
        f"{gone[0].learning_rate:.1g}, and the loss stood at about "
        f"{statistics.median(since):.4g}."
    )
    at = training.at(gone[0])
    return "likely", [Evidence(text=text, lane="loss", at=at)], first


def _by_rate(
    training: Training, rates: list[float]
) -> tuple[Confidence, list[Evidence], float] | None:
    is_sgd = training.setting("optimizer") == "SGD"
    if max(rates) > (TINY_RATE_OF_SGD if is_sgd else TINY_RATE):
        return None
    text = f"The learning rate was never above {max(rates):.1g}; usual are 1e-4 to 0.1."
    return "possible", [Evidence(text=text)], 1e-3


def _verdict(
    case: Case,
    training: Training,
    learned: Learning,
    rates: list[float],
    confidence: Confidence,
    evidence: list[Evidence],
    better: float,
) -> Verdict:
    rate = statistics.median(rates)
    because = "Gradients are there, updates are next to nothing."
    if _used_up(training, learned) or len(training.epochs) < 2:
        because = "The rate fell to nothing in the first half of the run."
    if not training.inspections:
        because = "The rate is far below usual ones; weights were not looked at."
    if 0.0 < better < math.inf:
        better = 10.0 ** round(math.log10(better))
    if learned.start is not None and learned.end is not None:
        text = f"The loss went from {learned.start:.4g} to {learned.end:.4g} in all."
        evidence.append(Evidence(text=text, lane="loss"))
    headline = f"The learning rate of {rate:.2g} is too low: the weights hardly move"
    first, last = _first_and_last(training, rates)
    has_fallen = last < DECAYED * first
    raised = Fix(
        title=f"Raise the learning rate to about {better:g}",
        why="Then a step moves the weights by about a thousandth of their size. Higher "
        "rates may make the loss restless.",
        code=learning_rate.line(training, better),
    )
    if has_fallen:
        headline = f"The learning rate fell to {last:.2g}: the weights hardly move"
        text = f"It began at {first:.2g} and was {last:.2g} at the end."
        evidence.append(Evidence(text=text))
    return Verdict(
        id=RULE.id,
        detail="constant" if max(rates) < 2 * min(rates) else "decayed",
        severity="warning",
        confidence=confidence,
        headline=headline,
        chip="Rate too low",
        because=because,
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        evidence=tuple(evidence),
        fixes=(
            *([_slower(first, training.steps)] if has_fallen else []),
            *([] if has_fallen and better <= first else [raised]),
        ),
        explains=_EXPLAINS,
    )


def _first_and_last(training: Training, rates: list[float]) -> tuple[float, float]:
    """The highest rate of the training, and the one of its last epoch."""
    ends = finite([e.learning_rate for e in training.epochs if e.learning_rate])
    given = training.number("optimizer.learning_rate") or 0.0
    return max(*rates, *ends, given), (ends or rates)[-1]


def _slower(first: float, steps: int) -> Fix:
    return Fix(
        title="Let the learning rate fall over the whole run",
        why="It was used up long before the end.",
        code=f"keras.optimizers.schedules.CosineDecay({first:g}, decay_steps={steps})",
    )


def _share(moved: float) -> str:
    return "0.01%" if moved < 1e-4 else f"{moved:.2%}"


RULE = Rule(id="lr_too_low", judge=judge)
