"""Raw scores that are read as probabilities, and the other way round."""

import math

from tb_health_plugin.diagnosis.batches import Tensor
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import (
    CROSS_ENTROPIES,
    Head,
    has_penalty,
    heads_of,
)
from tb_health_plugin.diagnosis.learning import BETTER, is_long_enough, learning_of
from tb_health_plugin.diagnosis.output_loss.mismatch import outcome, verdict
from tb_health_plugin.diagnosis.outputs import output_range
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Activations whose outputs are no probabilities.
_RAW = (
    "linear",
    "relu",
    "tanh",
    "leaky_relu",
    "elu",
    "selu",
    "gelu",
    "silu",
    "swish",
)
# What Keras says of probabilities where it expects scores.
_NOT_LOGITS = r"from_logits=True.{0,120}does not represent logits"
# A loss this far below the trivial one is good, whatever it was made of.
GOOD = 0.3
# Scores that are still near 0 lie in 0 to 1, too; none of a softmax reaches this then.
SURE = 0.5


def activated_twice(case: Case, training: Training, head: Head) -> Verdict | None:
    """Probabilities read as raw scores: the loss takes the softmax of a softmax.

    Keras sees through a softmax that is the very last operation: it warns, and
    takes the scores from before. It cannot if anything comes after, as in a layer of
    the program's own; then the loss has a floor.
    """
    if head.kind not in CROSS_ENTROPIES or not head.from_logits:
        return None
    if head.activation or head.layer.kind == "Softmax" or case.said(_NOT_LOGITS):
        return None
    low, high = output_range(training, head)
    if low is None or high is None or low < 0 or not SURE < high <= 1:
        return None
    if not is_long_enough(training):
        return None
    floor = _floor(head)
    losses = finite(training.metric("loss"))
    if floor is None or not losses or min(losses) < floor or has_penalty(training):
        return None
    name = "sigmoid" if head.kind == "binary" else "softmax"
    return verdict(
        case,
        training,
        head,
        detail="probabilities_as_scores",
        headline=f"{head.loss_name} takes the {name} of outputs that already are "
        "probabilities",
        because="All outputs that were looked at lay in 0 to 1, and the loss never "
        "fell below what such outputs can reach.",
        evidence=(
            Evidence(
                text=f"The outputs of {head.layer.name} ran from {low:.3g} to "
                f"{high:.3g}; the loss has from_logits=True."
            ),
            Evidence(
                text=f"So the loss cannot fall below {floor:.3g}, and gradients are "
                f"small. It was never below {min(losses):.3g}.",
                lane="loss",
            ),
            *outcome(training),
        ),
        fixes=(
            Fix(
                title="Tell the loss that it gets probabilities",
                why=f"The {name} is in the model already.",
                code="from_logits=False",
            ),
            Fix(
                title=f"Or take the {name} out of {head.layer.name}",
                why="Scores are safer in low precision. Apply it after predict().",
                code=f"probabilities = keras.ops.{name}(model.predict(x))",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _floor(head: Head) -> float | None:
    """The lowest loss that outputs of 0 to 1 can reach when read as scores."""
    if head.kind == "binary":
        # All labels 1, at an output of 1.
        return math.log1p(math.exp(-1.0))
    return math.log1p((head.units - 1) / math.e) if head.units else None


def raw_scores(
    case: Case, training: Training, head: Head, target: Tensor | None
) -> Verdict | None:
    """Raw scores read as probabilities."""
    if head.kind not in CROSS_ENTROPIES or head.activation not in _RAW:
        return None
    if head.from_logits is not False or not head.is_certain:
        return None
    low, high = output_range(training, head)
    outside = low is not None and high is not None and (low < 0 or high > 1)
    learned = learning_of(training)
    end, base = learned.end, learned.baseline
    trivial = base.loss if base is not None else None
    share = end / trivial if end is not None and trivial else None
    if share is not None and share < (GOOD if outside else BETTER):
        # Against all odds its outputs have become probabilities, or nearly so.
        return None
    if not is_long_enough(training) and not outside:
        return None
    name = head.activation
    evidence = [
        Evidence(
            text=f"The last layer ({head.layer.name}) has "
            + ("no activation" if name == "linear" else f"the activation {name}")
            + f"; {head.loss_name} with from_logits=False expects probabilities.",
        )
    ]
    if outside:
        text = f"Its outputs ran from {low:.3g} to {high:.3g}; outside of 0 to 1 the "
        evidence.append(Evidence(text=text + "loss has no slope to follow."))
    if base and base.loss is not None and end is not None:
        evidence.append(
            Evidence(
                text=f"The loss ended at {end:.4g}; {base.words} gives "
                f"{base.loss:.4g} without any training.",
                lane="loss",
            )
        )
    evidence += outcome(training)
    return verdict(
        case,
        training,
        head,
        detail="scores_as_probabilities",
        headline=f"{head.loss_name} reads raw scores as probabilities",
        because=(
            "Loss and last layer are exact"
            + (", and outputs outside of 0 to 1 were seen." if outside else ".")
        ),
        evidence=tuple(evidence),
        fixes=_fixes_for_scores(head, target),
        severity="warning",
        confidence="proven" if outside else "likely",
    )


def raw_scores_of_one(case: Case, training: Training) -> Verdict | None:
    """The same for one of several outputs, as its own loss in the epochs tells."""
    for head in heads_of(training):
        losses = finite(training.metric(f"{head.layer.name}_loss"))
        if head.kind not in CROSS_ENTROPIES or head.activation not in _RAW:
            continue
        if head.from_logits is not False or not is_long_enough(training):
            continue
        trivial = math.log(max(head.units or 2, 2))
        if not losses or losses[-1] < BETTER * trivial:
            continue
        name = head.layer.name
        return verdict(
            case,
            training,
            head,
            detail="scores_as_probabilities",
            headline=f"{head.loss_name} reads raw scores of {name} as probabilities",
            because="Loss and last layer are exact, and this output did not learn.",
            evidence=(
                Evidence(
                    text=f"{name} has the activation {head.activation}; "
                    f"{head.loss_name} with from_logits=False expects probabilities.",
                ),
                Evidence(
                    text=f"{name}_loss ended at {losses[-1]:.4g}; guessing gives "
                    f"{trivial:.4g}.",
                    lane="loss",
                ),
            ),
            fixes=_fixes_for_scores(head, None),
            severity="warning",
            confidence="likely",
        )
    return None


def _fixes_for_scores(head: Head, target: Tensor | None) -> tuple[Fix, ...]:
    activation = "sigmoid" if head.kind == "binary" else "softmax"
    if head.kind == "categorical" and target is not None and target.is_multi_hot:
        activation = "sigmoid"
    units = head.units or 1
    fixes = [
        Fix(
            title=f"Give the last layer a {activation}",
            why="Then its output is a probability."
            if units == 1
            else f"Then its {units} outputs are probabilities.",
            code=f'keras.layers.Dense({units}, activation="{activation}")',
        )
    ]
    loss = {
        "binary": "BinaryCrossentropy",
        "sparse": "SparseCategoricalCrossentropy",
        "categorical": "CategoricalCrossentropy",
    }.get(head.kind or "")
    if head.activation == "linear" and loss:
        fixes.append(
            Fix(
                title="Or tell the loss that it gets scores",
                why="Same result, a little safer in low precision.",
                code=f"loss=keras.losses.{loss}(from_logits=True)",
            )
        )
    return tuple(fixes)
