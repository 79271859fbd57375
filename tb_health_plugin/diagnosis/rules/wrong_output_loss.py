"""The last layer, the loss and the targets do not belong together.

**What it means.** Every loss expects one kind of output. A softmax over a single unit
gives 1 for every row. `categorical_crossentropy` on one unit is 0 for every row. A
cross-entropy that expects probabilities reads raw scores as if they were some. A
sigmoid never reaches a target of 40, a ReLU never one of -1. Class numbers trained as
one measurement put class 1 between 0 and 2. A loss of one's own with
the wrong sign is lowest where the predictions are worst. The loss may fall all the
same, so nothing looks broken but the result.

**How we know.** Activation and units of the last layer, name and settings of the loss,
and the range of the targets in the batches are exact. Where such a pair may still
learn, we speak up only if loss and accuracy show that it did not.

**What it is mistaken for.** Dead units, a learning rate that is too low, bad data.

**What to do.** Pairs that belong together:

| targets | last layer | loss |
| --- | --- | --- |
| 0 or 1 | 1 unit, sigmoid | `binary_crossentropy` |
| class numbers 0 to n-1 | n units, softmax | `sparse_categorical_crossentropy` |
| one-hot rows | n units, softmax | `categorical_crossentropy` |
| several labels per row | n units, sigmoid | `binary_crossentropy` |
| measurements | 1 unit each, no activation | `mse` or `mae` |

Without an activation, the first four need `from_logits=True` in the loss.
"""

from tb_health_plugin.diagnosis import bottomless
from tb_health_plugin.diagnosis.batches import target_of
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.heads import Head, head_of
from tb_health_plugin.diagnosis.output_loss.mismatch import verdict
from tb_health_plugin.diagnosis.output_loss.one_unit import always_one, one_class
from tb_health_plugin.diagnosis.output_loss.probabilities import (
    activated_twice,
    raw_scores,
    raw_scores_of_one,
)
from tb_health_plugin.diagnosis.output_loss.targets import (
    class_numbers,
    one_number,
    out_of_reach,
    several_labels,
)
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        head = head_of(training)
        if head is not None:
            found = _judge(case, training, head)
        else:
            found = raw_scores_of_one(case, training)
        if found:
            return found
    return None


def _judge(case: Case, training: Training, head: Head) -> Verdict | None:
    target = target_of(training)
    found = (
        always_one(case, training, head)
        or one_class(case, training, head)
        or activated_twice(case, training, head)
        or _no_bottom(case, training, head)
    )
    if found or target is None:
        return found or raw_scores(case, training, head, None)
    return (
        class_numbers(case, training, head, target)
        or raw_scores(case, training, head, target)
        or out_of_reach(case, training, head, target)
        or one_number(case, training, head, target)
        or several_labels(case, training, head, target)
    )


def _no_bottom(case: Case, training: Training, head: Head) -> Verdict | None:
    """A loss that is better the worse the model is."""
    low = None if head.kind is not None else bottomless.lowest(training)
    if low is None:
        return None
    return verdict(
        case,
        training,
        head,
        detail="no_bottom",
        headline=f"The loss fell without end, to {short(low)}: it has no lowest value",
        because="It fell faster and faster below zero, so training drives the model "
        "away from the targets.",
        evidence=(
            Evidence(text=f"It had fallen to {short(low)}, and fell on.", lane="loss"),
        ),
        fixes=(
            Fix(
                title="Turn its sign around, or take a loss with a lowest value",
                why="An optimizer makes the loss as small as it can: it must be "
                "smallest where the predictions are right.",
                code=_turned(head),
            ),
        ),
        severity="critical",
        confidence="likely",
    )


def _turned(head: Head) -> str:
    """The program's own loss with the other sign, if it has a name."""
    name = head.loss_name
    if not name.isidentifier():
        return 'model.compile(..., loss="mse")'
    return f"model.compile(..., loss=lambda y, output: -{name}(y, output))"


RULE = Rule(id="wrong_output_loss", judge=judge)
