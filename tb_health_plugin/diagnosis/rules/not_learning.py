"""It trained, but it is no better than a model that ignores its inputs.

**What it means.** After many steps the loss is still that of giving every row the same
answer: the shares of the classes, or the mean of the target. Accuracy is what always
naming the largest class would reach.

**How we know.** The labels of the batches give the loss and accuracy that need no
training. Both are compared with what the run reported, where they can be compared: not
with weights on rows or penalties in the loss, not for losses of the program's own.
Short runs are not judged.

If a penalty or a dropout presses so hard that nothing gets through, it is named. So are
sample weights that are all 0: then the loss is 0 too.

**What it is mistaken for.** A run that is only slow. Random data, as in speed tests,
cannot be learned either: then this is right, and no problem.

**What to do.** If another finding is there, begin with that one. Else see whether the
model can learn 32 rows by heart. If it cannot, the model or the learning rate is at
fault; if it can, labels and inputs do not belong together.
"""

import dataclasses

from tb_health_plugin.diagnosis import learning_rate
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.learning import (
    ACCURACY_MARGIN,
    LEAST_EPOCHS,
    NOT_BETTER,
    Learning,
    accuracy_name,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.rules import over_regularised
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# A run that still goes on may yet find its way: it gets twice the time.
LEAST_EPOCHS_RUNNING = 8


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None:
        return None
    if not case.is_over and len(training.epochs) < LEAST_EPOCHS_RUNNING:
        return None
    weightless = _weightless(case, training)
    if weightless is not None:
        return weightless
    learned = learning_of(training)
    by_heart = _by_heart(case, training, learned)
    if by_heart is not None:
        return by_heart
    if learned.state != "no" or not learned.losses:
        return None
    pressed = over_regularised.pressed(case, training)
    if pressed is not None:
        return dataclasses.replace(pressed, id=RULE.id, detail="over_regularised")
    return Verdict(
        id=RULE.id,
        detail="chance" if learned.by_accuracy else "baseline",
        severity="warning",
        confidence="likely" if learned.by_loss and learned.by_accuracy else "possible",
        headline=_headline(training, learned),
        chip="Not learning",
        because=_because(learned),
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        evidence=tuple(_evidence(training, learned)),
        fixes=_fixes(training),
    )


def _by_heart(case: Case, training: Training, learned: Learning) -> Verdict | None:
    """A little better on the rows it trains on, and not at all on others."""
    base = learned.baseline
    losses = finite(training.metric("val_loss"))
    name = accuracy_name(training, "val_")
    rates = finite(training.metric(name)) if name else []
    if learned.state != "slow" or base is None or not base.loss or not base.accuracy:
        return None
    if min(len(losses), len(rates)) < LEAST_EPOCHS:
        return None
    margin = min(ACCURACY_MARGIN, base.accuracy / 2)
    if min(losses) < NOT_BETTER * base.loss or max(rates) > base.accuracy + margin:
        return None
    at = training.at(training.epochs[-1], training.epochs[-1].epoch)
    return Verdict(
        id=RULE.id,
        detail="by_heart",
        severity="warning",
        confidence="likely",
        headline=f"Nothing learned that holds for other rows in {len(losses):,} "
        f"epochs: validation accuracy {rates[-1]:.1%} is chance",
        chip="Not learning",
        because="On the validation data, loss and accuracy never got better than those "
        "of a model that ignores its inputs.",
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"The best validation loss was {min(losses):.4g}; {base.words} "
                f"gives {base.loss:.4g}.",
                lane="loss",
                at=at,
            ),
            Evidence(
                text=f"The best validation accuracy was {max(rates):.1%}; always "
                f"naming the largest class gives {base.accuracy:.1%}.",
                at=at,
            ),
            *(
                [Evidence(text=f"Training accuracy: {learned.accuracies[-1]:.1%}.")]
                if learned.accuracies
                else []
            ),
        ),
        fixes=_fixes(training),
        explains=("undertrained", "overfitting"),
    )


def _weightless(case: Case, training: Training) -> Verdict | None:
    """Every row counts for nothing, so the loss is 0 whatever the model says."""
    weights = [
        field
        for seen in training.batches
        for field in seen.fields
        if field.role == "weight"
    ]
    losses = training.metric("loss")
    if not weights or any(field.minimum or field.maximum for field in weights):
        return None
    if len(losses) < 2 or any(loss != 0 for loss in losses):
        return None
    at = training.at(training.batches[0])
    return Verdict(
        id=RULE.id,
        detail="no_weight",
        severity="critical",
        confidence="proven",
        headline="Every row has a sample weight of 0, so the loss is 0: nothing is "
        "learned",
        chip="Rows weigh nothing",
        because="Weights and losses were looked at, and all of them are 0.",
        cause_at=at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"All sample weights in {len(weights)} batches are 0.", at=at
            ),
            Evidence(text=f"The loss was 0 in all {len(losses)} epochs.", lane="loss"),
        ),
        fixes=(
            Fix(
                title="Look at how the sample weights are made",
                why="A division of whole numbers, a cast or a mask that is never true "
                "leaves 0.",
                code="print(sample_weight.min(), sample_weight.max())",
            ),
        ),
        explains=("no_gradient", "weights_not_updated", "vanishing_gradients"),
    )


def _headline(training: Training, learned: Learning) -> str:
    epochs = len(training.epochs)
    begins = f"Nothing learned in {epochs} epochs"
    if learned.by_accuracy:
        return f"{begins}: accuracy {learned.accuracies[-1]:.1%} is chance"
    if learned.collapsed:
        return f"{begins}: it predicts about the same for every row"
    return f"{begins}: the loss is no better than without any training"


def _because(learned: Learning) -> str:
    if learned.by_loss and learned.by_accuracy:
        return "Loss and accuracy are those of a model that ignores its inputs."
    what = "Accuracy" if learned.by_accuracy else "The loss"
    if learned.collapsed and not learned.by_accuracy:
        what = "The output"
    return f"{what} is no better than that of a model that ignores its inputs."


def _evidence(training: Training, learned: Learning) -> list[Evidence]:
    base = learned.baseline
    end, start = learned.end, learned.start
    at = training.at(training.epochs[-1], training.epochs[-1].epoch)
    found = []
    if base and base.loss is not None and end is not None:
        text = f"The loss ended at {end:.4g}; {base.words} gives {base.loss:.4g}."
        found.append(Evidence(text=text, lane="loss", at=at))
    if base and base.accuracy is not None and learned.accuracies:
        name = accuracy_name(training) or "accuracy"
        text = (
            f"{name} was never above {max(learned.accuracies):.1%}; always naming the "
            f"largest class reaches {base.accuracy:.1%}."
        )
        found.append(Evidence(text=text, at=at))
    if learned.collapsed:
        text = "At the end the model gave out nearly the same number for every row."
        found.append(Evidence(text=text, at=at))
    if start is not None and end is not None:
        text = f"The first batches had a loss of {start:.4g}."
        found.append(Evidence(text=text, strong=False, lane="loss"))
    return found


def _fixes(training: Training) -> tuple[Fix, ...]:
    rate = training.number("optimizer.learning_rate")
    optimizer = training.setting("optimizer") or "Adam"
    fixes = [
        Fix(
            title="See whether it can learn 32 rows by heart",
            why="If it cannot, model or learning rate is at fault; if it can, look "
            "whether inputs and labels still belong together.",
            code="model.fit(x[:32], y[:32], epochs=200)",
        )
    ]
    if rate:
        fixes.append(
            Fix(
                title="Try a tenth and ten times the learning rate",
                why=f"It was {rate:g} with {optimizer}. Two short runs tell.",
                code=f"{learning_rate.line(training, rate / 10)}\n"
                f"{learning_rate.line(training, rate * 10)}",
            )
        )
    return tuple(fixes)


RULE = Rule(id="not_learning", judge=judge)
