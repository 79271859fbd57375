"""Labels that are all the same, or of one class but for a few."""

from tb_health_plugin.diagnosis.batches import Tensor
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.heads import Head
from tb_health_plugin.diagnosis.labels.rare_labels import (
    has_other_labels,
    names_one_class,
)
from tb_health_plugin.diagnosis.labels.wrong_labels import first, outcome, verdict
from tb_health_plugin.diagnosis.learning import learning_of
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Sorted data begins with one class too: batches from all over an epoch are needed.
CONSTANT_BATCHES = 5
CONSTANT_SPREAD = 0.5
# Of so many rows a class of one percent is not missed by chance.
CONSTANT_ROWS = 300
# With fewer, a training that has nothing to learn shows it by getting all right.
ALL_RIGHT = 0.9999
NEARLY_NO_LOSS = 0.02
# Below this share, always naming the largest class is no accuracy to be proud of.
RARE_SHARE = Option(
    "rare_share",
    0.9,
    "Share of the largest class from which on an accuracy like it is told.",
)
# Accuracy this near to the share of the largest class names no other.
SAME_ACCURACY = 0.005


def constant(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Labels that are all the same."""
    # A loop may train on one class at a time on purpose, as GANs do.
    if training.started.loop != "fit" or not target.counts:
        return None
    if len(target.counts) > 1 or target.std > 0 or not _is_spread(training):
        return None
    value = target.minimum
    if has_other_labels(training, value):
        return None
    if target.rows < CONSTANT_ROWS and not _gets_all_right(training):
        return None
    text = (
        f"All labels of {target.batches} batches from all over an epoch "
        f"({target.rows:,} rows) are {value:g}."
    )
    return verdict(
        case,
        training,
        detail="constant",
        headline=f"Every label is {value:g}: there is nothing to learn",
        chip="One label only",
        because=f"{target.rows:,} labels were looked at; not all of them.",
        evidence=(Evidence(text=text, at=first(training)), *outcome(training)),
        fixes=(
            Fix(
                title="Look at how the labels are made",
                why="A wrong column, a division, a cast to whole numbers or a filter "
                "can leave one value.",
                code="print(np.unique(y, return_counts=True))",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _gets_all_right(training: Training) -> bool:
    learned = learning_of(training)
    if learned.accuracies:
        return learned.accuracies[-1] >= ALL_RIGHT
    return bool(learned.losses) and learned.losses[-1] < NEARLY_NO_LOSS


def _is_spread(training: Training) -> bool:
    """Batches were looked at all over an epoch, not only at its beginning."""
    places = {seen.batch for seen in training.batches if seen.batch is not None}
    steps = training.started.planned_steps_per_epoch or 0
    for epoch in training.epochs:
        steps = max(steps, (epoch.last_step or 0) - (epoch.first_step or 0))
    if len(places) < CONSTANT_BATCHES or not steps:
        return False
    return max(places) - min(places) >= CONSTANT_SPREAD * steps


def rare(case: Case, training: Training, head: Head, target: Tensor) -> Verdict | None:
    """Rare classes that were never named."""
    learned = learning_of(training)
    base = learned.baseline
    if base is None or base.accuracy is None:
        return None
    share = base.accuracy
    if share < case.tuned(RARE_SHARE) or base.loss is None or not learned.accuracies:
        return None
    if learned.state == "slow" and not names_one_class(training, learned, base):
        return None
    if learned.state not in ("no", "slow"):
        return None
    margin = SAME_ACCURACY + (3 * base.chance_error if learned.state == "slow" else 0)
    if any(abs(a - share) > margin for a in learned.accuracies[-3:]):
        return None
    accuracy, loss = learned.accuracies[-1], learned.losses[-1]
    return verdict(
        case,
        training,
        detail="imbalanced",
        headline=f"Accuracy {accuracy:.1%} is only the share of the largest class",
        chip="One class only",
        because="Accuracy and loss equal those of a model that ignores its inputs.",
        evidence=(
            Evidence(
                text=f"{share:.1%} of {target.rows:,} labels are one class; accuracy "
                f"was {accuracy:.1%} at the end."
            ),
            Evidence(
                text=f"The loss ended at {loss:.4g}; knowing the shares alone gives "
                f"{base.loss:.4g}.",
                lane="loss",
            ),
        ),
        fixes=(
            Fix(
                title="Judge by something that rare classes count in",
                why=f"Always naming the largest class gives {share:.1%} already.",
                code='metrics=[keras.metrics.AUC(curve="PR")]',
            ),
            Fix(
                title="Give rare classes more weight",
                why=f"They are {1 - share:.1%} of all rows, and hardly move the loss. "
                "The accuracy will fall, and rare rows will be found.",
                code=_weights(target, share, head.kind),
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _weights(target: Tensor, share: float, kind: str | None) -> str:
    """For two classes with numbers; for more they are counted where they are whole."""
    if kind != "binary":
        counted = "y.sum(axis=0)" if kind == "categorical" else "np.bincount(y)"
        return (
            f"share = {counted} / len(y)\n"
            "model.fit(..., class_weight=dict(enumerate(1 / (len(share) * share))))"
        )
    rare = 1 if target.mean < 0.5 else 0
    factor = share / max(1 - share, 1e-6)
    return f"model.fit(..., class_weight={{{1 - rare}: 1, {rare}: {factor:.0f}}})"
