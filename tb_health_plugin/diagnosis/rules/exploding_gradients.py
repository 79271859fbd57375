"""Gradients are huge before any update could have made them so.

**What it means.** On their way back through many layers or time steps gradients are
multiplied again and again. If the factor is above 1, they grow without bound, and the
first updates throw the weights away. Recurrent layers over long sequences, deep
networks without normalisation and initial weights that are too large do that.

**How we know.** The norm of the gradients was far above that of the weights in the very
first step, with data of normal size; or a recurrent model at a normal learning rate
blew up; or gradients a million times the weights were seen later, where the loss was
an ordinary number and nothing was learned.

**What it is mistaken for.** A learning rate that is too high. There the first gradients
are normal and grow from update to update. Targets or inputs in the thousands make
gradients huge, too: scale them first if they are named.

**What to do.** Clip gradients by their norm; use LSTM or GRU instead of a plain
recurrent layer; normalise (BatchNormalization, LayerNormalization); use the default
initializers.
"""

import math

from tb_health_plugin.diagnosis import inspections, learning_rate, loss_course
from tb_health_plugin.diagnosis.bad_numbers import BadNumber, explained_ends, first_bad
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.magnitudes import (
    began_huge,
    first_gradient,
    is_huge_loss,
    is_recurrent,
    is_unscaled,
)
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.events import facts

# Fewer steps than this are no run to judge.
LEAST_STEPS = 30
# So many times the weights, no loss of ordinary size makes gradients by itself.
IMMENSE = 1e6


def judge(case: Case) -> Outcome:
    bad = first_bad(case)
    if bad is not None:
        huge = bad.lasting and bad.origin == "gradients"
        return _verdict(case, bad.training, bad) if huge else None
    training = main_training(case)
    if training is None or training.steps < LEAST_STEPS:
        return None
    if not training.inspections:
        return inspections.gradients_not_measured(case)
    later = None if began_huge(training) else _immense(training)
    if is_unscaled(training) or not (later or began_huge(training)):
        return None
    # Huge gradients that are clipped or wear off do no harm.
    if loss_course.has_learned(training) is not False:
        return None
    return _verdict(case, training, None, later)


def _immense(training: Training) -> facts.Inspected | None:
    """The first look at gradients far beyond what the loss of that step can make."""
    for look in training.inspections:
        gradient, loss = look.gradient_norm, look.loss
        if gradient is None or loss is None or not math.isfinite(gradient + loss):
            continue
        variables = inspections.variables(training, [look])
        weights = math.hypot(
            *inspections.known([w for one in variables for w in one.weights])
        )
        is_usual = not is_huge_loss(training, loss)
        if is_usual and weights and gradient >= IMMENSE * max(weights, 1.0):
            return look
    return None


def _verdict(
    case: Case,
    training: Training,
    bad: BadNumber | None,
    later: facts.Inspected | None = None,
) -> Verdict:
    gradient = first_gradient(training)
    at = bad.at if bad else Moment(step=training.started.first_step or 0, epoch=1)
    largest = _largest(training, bad.step if bad else None)
    huge = began_huge(training)
    if huge:
        headline = "Gradients were huge from the first step"
        if gradient is not None:
            headline += f": norm {short(gradient)}"
        because = "No update had been made yet when numbers were that large."
    elif later is not None:
        at = training.at(later)
        norm, loss = short(later.gradient_norm or 0.0), short(later.loss or 0.0)
        headline = f"Gradients were huge at step {later.step:,}: norm {norm}"
        because = f"The loss was {loss} then: layers multiply the gradients."
    else:
        headline = "Gradients grew through the recurrent layers until they broke"
        because = (
            "They grew at a normal learning rate, and recurrent layers multiply them "
            "at every time step."
        )
    if bad is not None:
        step = "" if bad.step is None else f" at step {bad.step:,}"
        headline += f"; loss {bad.word}{step}"
    return Verdict(
        id="exploding_gradients",
        detail="first_step" if huge else "later" if later else "recurrent",
        severity="critical" if bad else "warning",
        confidence="likely",
        headline=headline,
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": largest} if largest else {},
        evidence=(*_evidence(training, gradient, largest, bad, at),),
        fixes=_fixes(training, largest),
        chip="Gradients exploding",
        explains=(
            "lr_too_high",
            "nan_op",
            "dead_relu",
            "vanishing_gradients",
            *explained_ends(case),
        ),
    )


def _evidence(
    training: Training,
    gradient: float | None,
    largest: str | None,
    bad: BadNumber | None,
    at: Moment,
) -> list[Evidence]:
    found = []
    first = Moment(step=training.started.first_step or 0, epoch=1)
    if gradient is not None:
        text = f"The gradients of the first step had a norm of {short(gradient)}."
        found.append(Evidence(text=text, at=first))
    loss = loss_course.first_loss(training)
    if loss is not None and math.isfinite(loss):
        text = f"The loss of the first step was {short(loss)}."
        found.append(Evidence(text=text, lane="loss", at=first))
    if largest:
        text = f"The largest ones were those of {largest}."
        found.append(Evidence(text=text, strong=False, at=first))
    if bad is not None and bad.fact.gradient_norms_before:
        row = [v for v in bad.fact.gradient_norms_before if math.isfinite(v)][-5:]
        text = f"Norms before the end: {', '.join(short(value) for value in row)}."
        if len(row) > 1:
            found.append(Evidence(text=text, lane="loss", at=at))
    rate = learning_rate.used(training)
    if rate is not None and not learning_rate.is_high(training):
        text = f"The learning rate of {short(rate)} is not high."
        found.append(Evidence(text=text, strong=False, at=at))
    return found


def _largest(training: Training, before: int | None) -> str | None:
    """The layer whose variables had the largest gradients at the first look."""
    seen = inspections.looks(training, before)[:1]
    sizes = {
        one.variable.layer: size
        for one in inspections.kernels(training, seen)
        for size in inspections.known(one.gradients)
    }
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def _fixes(training: Training, largest: str | None) -> tuple[Fix, ...]:
    fixes = []
    if training.number("optimizer.clipnorm") is None:
        fixes.append(
            Fix(
                title="Clip gradients by their norm",
                why="Gradients were far larger than the weights; clipping bounds each "
                "step. It costs almost nothing.",
                code=learning_rate.line(training, clipnorm="1.0"),
            )
        )
    if is_recurrent(training):
        fixes.append(
            Fix(
                title="Use LSTM or GRU, or an orthogonal initializer with gain 1",
                why="A plain recurrent layer multiplies gradients by the same matrix "
                "at every time step. A GRU has three times its weights.",
                code=f"keras.layers.GRU({_recurrent_units(training)})",
            )
        )
    else:
        fixes.append(
            Fix(
                title="Use the default initializers, and normalise between layers",
                why=f"Gradients are largest in {largest or 'deep layers'} before the "
                "first update, so the initial weights make them so.",
                code="keras.layers.LayerNormalization()",
            )
        )
    return tuple(fixes)


def _recurrent_units(training: Training) -> int | str:
    """Of its plain recurrent layer."""
    plain = (one for one in training.started.layers if one.kind == "SimpleRNN")
    return next((one.units for one in plain if one.units), None) or "units"


RULE = Rule(id="exploding_gradients", judge=judge)
