"""Weights that should train never change.

**What it means.** Nothing is trainable (the whole model was frozen instead of its
base), or gradients are there and no update follows: they are applied to other
variables, to a copy of the model, or not at all. Or updates follow, and something sets
the weights back at the start of every epoch.

**How we know.** The number of trainable parameters is 0 while steps are run; or no look
saw a variable change although it had a gradient and the learning rate was not 0; or
every epoch of shuffled data begins with the loss of the first and ends with that of the
last. A part that a loop leaves out is named only if nothing was learned, or if its
biases are still exactly 0, so that it was never trained before either.

**What it is mistaken for.** A learning rate that is too low (there weights change, only
little) and a base that is frozen on purpose (there the rest trains; that is never named
here).

**What to do.** Freeze the base only, and before compile(). In a loop of your own,
compute gradients for and apply them to the same model.trainable_variables.
"""

from tb_health_plugin.diagnosis import inspections, loss_course, stale_compile
from tb_health_plugin.diagnosis.bad_numbers import first_bad
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.figures import looks, names, short
from tb_health_plugin.diagnosis.inspections import SeenVariable
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.starts_over import starts_over
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Severity, Verdict
from tb_health_plugin.events import facts

# Looks with a learning rate and a gradient that an update must follow; one step may
# be skipped (loss scaling, gradients that are collected over steps).
LEAST_LOOKS = 2
# And over this many steps, so that a slow warm-up has begun.
LEAST_STEPS = 10

# Gradients that should change weights by less than this share are lost in rounding.
LEAST_CHANGE = 1e-6

# Below this a float32 weight of usual size does not change any more.
LEAST_RATE = 1e-9

# Part of the parameters that a loop may leave out without a word.
LEFT_OUT = 0.3

# Epochs that must agree, and parts of an epoch, before equal losses mean anything.
LEAST_EPOCHS = 3
LEAST_PARTS = 8
# Means over the same rows in another order differ by this much.
ROUNDING = 1e-6

_EXPLAINS = ("not_learning", "lr_too_low", "undertrained")
_APPLY = Fix(
    title="Apply the gradients to the variables of this very model",
    why="Something else is updated, or nothing is: a copy of the model, another list, "
    "a step that was left out.",
    code="variables = model.trainable_variables\n"
    "gradients = tape.gradient(loss, variables)\n"
    "optimizer.apply_gradients(zip(gradients, variables))",
)

_WARNING = r"does not have any trainable (weights|variables)"


def judge(case: Case) -> Outcome:
    training = main_training(case)
    if training is None or not training.steps:
        return None
    if _nothing_trains(training):
        return _frozen(case, training)
    bad = first_bad(case)
    if bad is not None and bad.lasting:
        return None
    found = (
        _not_moving(case, training)
        or _same_losses(case, training)
        or _undone(case, training)
    )
    if found is None and not training.inspections:
        return inspections.gradients_not_measured(case)
    return found


def _nothing_trains(training: Training) -> bool:
    variables = training.started.variables
    if not variables:
        return False
    # A model that is not built yet has no number of them, but may have variables.
    if training.started.trainable_parameters != 0:
        return False
    return all(variable.trainable is False for variable in variables)


def _frozen(case: Case, training: Training) -> Verdict | None:
    if loss_course.has_learned(training):
        # Its own step trains something that the model does not list.
        return None
    count = len(training.started.variables)
    said = case.said(_WARNING)
    at = Moment(step=training.started.first_step or 0, epoch=1)
    evidence = [
        Evidence(text=f"0 of {count:,} variables of the model are trainable.", at=at)
    ]
    if said is not None:
        text = "Keras warned that the model does not have any trainable weights."
        evidence.append(Evidence(text=text, at=at))
    losses = training.metric("loss")
    if len(losses) > 1:
        text = f"The loss of the epochs: {', '.join(short(x) for x in losses[:5])}."
        evidence.append(Evidence(text=text, strong=False, lane="loss", at=at))
    own_step = training.setting("train_step") == "custom"
    head = _head(training)
    return Verdict(
        id="weights_not_updated",
        detail="nothing_trainable",
        severity="warning" if own_step else "critical",
        confidence="likely" if own_step else "proven",
        headline="Nothing was trained: no variable of the model is trainable",
        because="The model itself says that it has no trainable parameters.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": head} if head else {},
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Freeze the base, not the whole model, and compile again",
                why="trainable = False on a model holds for every layer in it, also "
                f"for {head or 'the head'}. It counts from the next compile() on.",
                code="model.trainable = True\nbase.trainable = False\n"
                "model.compile(...)",
            ),
        ),
        chip="Nothing trainable",
        explains=("no_gradient", "vanishing_gradients", *_EXPLAINS),
    )


def _not_moving(case: Case, training: Training) -> Verdict | None:
    seen = [look for look in inspections.looks(training) if _counts(look)]
    behind = [
        one for one in stale_compile.given_up(training, seen) if _is_due(one, seen)
    ]
    if behind:
        return stale_compile.verdict(case, training, behind, seen[-1], _EXPLAINS)
    if len(seen) < LEAST_LOOKS or seen[-1].step - seen[0].step < LEAST_STEPS:
        return None
    every = [
        one
        for one in inspections.variables(training, seen)
        if inspections.known(one.updates) or len(inspections.known(one.weights)) > 1
    ]
    still = [one for one in every if _stands_still(one)]
    if not still:
        return None
    learned = loss_course.has_learned(training)
    if len(still) == len(every):
        return None if learned else _verdict(case, training, every, still, seen)
    due = [one for one in still if _is_due(one, seen)]
    if not due and _left_out(training, every, still):
        # Some that rest while others train may be meant so: a loop that trains only
        # its head. But not if nothing is learned, or on top of random numbers.
        due = still if learned is False or _is_untrained(still) else []
    return _verdict(case, training, every, due, seen) if due else None


def _left_out(
    training: Training, every: list[SeenVariable], still: list[SeenVariable]
) -> bool:
    """A loop or step of the program's own does not train a good part of the model."""
    if training.setting("train_step") != "custom":
        return False
    given = [one for one in still if any(told == 0 for told in one.has_gradient[:1])]
    sizes = [sum(one.variable.size or 0 for one in some) for some in (still, every)]
    return not given and sizes[0] >= LEFT_OUT * max(sizes[1], 1)


def _is_untrained(still: list[SeenVariable]) -> bool:
    """Their biases are exactly 0, as they begin; no training leaves them so."""
    biases = [one for one in still if one.variable.name.endswith("bias")]
    known = [inspections.known(one.weights) for one in biases]
    return bool(known) and all(row and not any(row) for row in known)


def _undone(case: Case, training: Training) -> Verdict | None:
    """The weights change, and something sets them back."""
    found = starts_over(training)
    if found is None:
        return None
    at = training.at(training.epochs[1], training.epochs[1].epoch)
    epochs = len(training.epochs)
    return Verdict(
        id="weights_not_updated",
        detail="undone",
        severity="critical",
        confidence="likely",
        headline="Every epoch begins anew: what it learns is gone when the next begins",
        because="The rows are shuffled, so only weights that are set back make all "
        "epochs alike.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"In each of {epochs:,} epochs the loss fell from about "
                f"{short(found.first)} to {short(found.last)}, and the next began at "
                f"{short(found.first)} again.",
                lane="loss",
                at=at,
            ),
        ),
        fixes=(
            Fix(
                title="Look for what sets the weights at the start of an epoch",
                why="set_weights, load_weights, restore or a model made anew, in a "
                "callback or in the loop around fit().",
                code="grep -n 'set_weights\\|load_weights\\|restore' *.py",
            ),
        ),
        chip="Weights set back",
        explains=_EXPLAINS,
    )


def _same_losses(case: Case, training: Training) -> Verdict | None:
    """Every epoch gave the same losses to the last digit, batch by batch or in all."""
    rates = [epoch.learning_rate for epoch in training.epochs]
    if any(rate is not None and rate <= LEAST_RATE for rate in rates):
        return None
    profiles = {epoch.loss_profile for epoch in training.epochs}
    means = finite(training.metric("loss"))
    if len(training.epochs) < LEAST_EPOCHS or not all(profiles):
        return None
    batches = finite(next(iter(profiles)))
    # A loss that is the same for every batch does not depend on the weights.
    if len(batches) < LEAST_PARTS or not max(batches) > min(batches):
        return None
    whole = len(means) == len(training.epochs) and means[0] != 0
    equal = whole and max(means) - min(means) <= ROUNDING * abs(means[0])
    if len(profiles) > 1 and not equal:
        return None
    moved = [one for one in _seen(training) if one.moved]
    if moved:
        return None
    at = Moment(step=training.started.first_step or 0, epoch=1)
    loss = means[0] if equal else batches[0]
    epochs = len(training.epochs)
    what = "the loss of every batch" if len(profiles) == 1 else "the mean loss"
    return Verdict(
        id="weights_not_updated",
        detail="all",
        severity="critical",
        confidence="likely",
        headline=f"The loss is the same to the last digit in all {epochs:,} epochs",
        because="The same data gives the same loss only if no weight changes.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"In {epochs:,} epochs {what} was the same, as in {short(loss)}.",
                lane="loss",
                at=at,
            ),
        ),
        fixes=(_APPLY,),
        chip="Weights unchanged",
        explains=_EXPLAINS,
    )


def _seen(training: Training) -> list[SeenVariable]:
    return inspections.variables(training, inspections.looks(training))


def _counts(look: facts.Inspected) -> bool:
    """A look whose step should have changed something."""
    if look.learning_rate is not None and not look.learning_rate > LEAST_RATE:
        return False
    return not any(count > 0 for count in look.gradient_nonfinite)


def _stands_still(one: SeenVariable) -> bool:
    if one.moved:
        return False
    enough = len(inspections.known(one.updates)) >= LEAST_LOOKS
    return enough or len(inspections.known(one.weights)) >= LEAST_LOOKS


def _is_due(one: SeenVariable, seen: list[facts.Inspected]) -> bool:
    """Its gradients ask for a change that float32 can hold."""
    for gradient, weight, look in zip(one.gradients, one.weights, seen, strict=True):
        rate = 1.0 if look.learning_rate is None else look.learning_rate
        if gradient * rate > LEAST_CHANGE * (weight if weight > 0 else 1.0):
            return True
    return False


def _verdict(
    case: Case,
    training: Training,
    every: list[SeenVariable],
    still: list[SeenVariable],
    seen: list[facts.Inspected],
) -> Verdict:
    everything = len(still) == len(every)
    at = training.at(seen[0])
    listed = names([one.variable.name for one in still])
    with_gradient = [
        one for one in still if any(g > 0 for g in inspections.known(one.gradients))
    ]
    headline = (
        f"None of the {len(every):,} variables changed in any step that was looked at"
        if everything
        else f"{len(still):,} of {len(every):,} variables never change, as if frozen"
    )
    evidence = [
        Evidence(text=f"{listed}: no change in {looks(len(seen))}.", at=at),
    ]
    if with_gradient:
        largest = max(max(inspections.known(o.gradients)) for o in with_gradient)
        text = f"They had gradients, with norms up to {short(largest)}."
        evidence.append(Evidence(text=text, at=at))
    if not everything and not with_gradient and _is_untrained(still):
        text = (
            "Their biases are exactly 0: they were never trained, so the rest learns "
            "on top of random numbers."
        )
        evidence.append(Evidence(text=text, at=at))
    rate = seen[-1].learning_rate
    if rate is not None:
        text = f"The learning rate was {short(rate)}, so updates were due."
        evidence.append(Evidence(text=text, strong=False, at=at))
    severity: Severity = "critical" if everything else "warning"
    return Verdict(
        id="weights_not_updated",
        detail="all" if everything else "some",
        severity=severity,
        confidence="proven" if everything and with_gradient else "likely",
        headline=headline,
        because="Their values were the same before and after every step that was "
        f"looked at, up to step {seen[-1].step:,}.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"variable": still[0].variable.name, "layer": still[0].variable.layer},
        evidence=tuple(evidence),
        fixes=(_APPLY,),
        chip="Weights unchanged",
        explains=_EXPLAINS,
    )


def _head(training: Training) -> str | None:
    outputs = [layer.name for layer in training.output_layers]
    return outputs[-1] if outputs else None


RULE = Rule(id="weights_not_updated", judge=judge)
