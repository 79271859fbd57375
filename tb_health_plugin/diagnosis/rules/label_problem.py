"""The labels are not what the loss can work with.

**What it means.** A loss reads labels in one coding only. `binary_crossentropy` needs
numbers from 0 to 1, `sparse_categorical_crossentropy` whole numbers from 0 to the
number of output units minus 1. With others the loss goes below zero, the labels are cut
to whole numbers without a word, or the step fails. Labels that are all the same, or of
one class but for a few, leave nothing to learn or make the accuracy worthless.

**How we know.** The labels of single batches are looked at while they go into the
training, and compared with the loss and the last layer. That the labels do not fit is
an exact comparison of numbers. That nothing was learned from rare classes is seen when
loss and accuracy equal those of a model that ignores its inputs.

**What it is mistaken for.** Overfitting (training loss near 0, validation loss high),
a wrong last layer, a learning rate that is too high.

**What to do.** Map the labels to the coding that the loss expects, before they are
batched, for training and validation alike. Do not scale labels along with features.
"""

from tb_health_plugin.diagnosis.batches import target_of
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.heads import CROSS_ENTROPIES, head_of
from tb_health_plugin.diagnosis.labels.coding import (
    beyond_one,
    fractions,
    no_class,
    no_unit,
    refused,
    some_without_class,
)
from tb_health_plugin.diagnosis.labels.one_class import RARE_SHARE, constant, rare
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Verdict


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        found = _judge(case, training)
        if found:
            return found
    return None


def _judge(case: Case, training: Training) -> Verdict | None:
    head, target = head_of(training), target_of(training)
    said = refused(case, training)
    if said:
        return said
    if head is None or target is None or head.kind not in CROSS_ENTROPIES:
        return None
    if head.kind == "sparse":
        found = fractions(case, training, head, target) or no_unit(
            case, training, head, target
        )
    else:
        found = (
            no_class(case, training, head, target)
            or some_without_class(case, training, head, target)
            or beyond_one(case, training, head, target)
        )
    return (
        found
        or constant(case, training, head, target)
        or rare(case, training, head, target)
    )


RULE = Rule(id="label_problem", judge=judge, options=(RARE_SHARE,))
