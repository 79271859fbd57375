"""Losses and activations for several units, on a single one."""

from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import Head
from tb_health_plugin.diagnosis.output_loss.mismatch import same_accuracy, verdict
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict


def always_one(case: Case, training: Training, head: Head) -> Verdict | None:
    """A softmax over one unit."""
    if head.activation != "softmax" or head.units != 1 or head.layer.kind == "Softmax":
        # The layer called Softmax may run over another axis.
        return None
    same = same_accuracy(training)
    if not head.is_certain and same is None:
        return None
    layer = head.layer.name
    evidence = [
        Evidence(
            text=f"The last layer ({layer}) has 1 unit and a softmax: what it gives "
            "out is exactly 1 for every row.",
        )
    ]
    if same:
        evidence.append(same)
    two = (
        Fix(
            title="Use a sigmoid for one unit",
            why="A softmax shares 1 among its units; a single unit gets all of it.",
            code='keras.layers.Dense(1, activation="sigmoid")',
        ),
        Fix(
            title="Or two units, with class numbers as labels",
            why="Then the softmax has something to share.",
            code='keras.layers.Dense(2, activation="softmax")\n'
            'model.compile(..., loss="sparse_categorical_crossentropy")',
        ),
    )
    return verdict(
        case,
        training,
        head,
        detail="softmax_of_one",
        headline="A softmax over one unit always gives 1, so nothing can be learned",
        because="It follows from the last layer alone.",
        evidence=tuple(evidence),
        fixes=two,
        severity="critical",
    )


def one_class(case: Case, training: Training, head: Head) -> Verdict | None:
    """A loss for several classes on one unit."""
    if head.kind not in ("categorical", "sparse") or head.units != 1:
        return None
    if not head.is_certain:
        return None
    evidence = [
        Evidence(
            text=f"{head.loss_name} shares 1 among the units of the last layer "
            f"({head.layer.name}); it has only one, so the loss is 0 whatever the "
            "model does."
        )
    ]
    losses = finite(training.metric("loss"))
    if losses:
        text = (
            f"The loss was {losses[0]:.3g} in epoch 1 and {losses[-1]:.3g} at the end."
        )
        evidence.append(Evidence(text=text, lane="loss"))
    same = same_accuracy(training)
    if same:
        evidence.append(same)
    return verdict(
        case,
        training,
        head,
        detail="one_unit_for_classes",
        headline=f"{head.loss_name} on one unit is always 0: nothing can be learned",
        because="It follows from the loss and the last layer.",
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Use binary_crossentropy for one unit",
                why="It is made for yes and no in one number, after a sigmoid.",
                code='model.compile(..., loss="binary_crossentropy")',
            ),
        ),
        severity="critical",
    )
