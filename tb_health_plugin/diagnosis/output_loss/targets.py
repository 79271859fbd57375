"""Targets that the last layer can never give out."""

import math
from statistics import NormalDist

from tb_health_plugin.diagnosis import loss_course
from tb_health_plugin.diagnosis.batches import Tensor
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import REGRESSIONS, Head
from tb_health_plugin.diagnosis.learning import accuracy_name, learning_of
from tb_health_plugin.diagnosis.output_loss.mismatch import outcome, verdict
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# What an activation can reach.
_RANGES = {
    "sigmoid": (0.0, 1.0),
    "hard_sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, math.inf),
    "softplus": (0.0, math.inf),
}
# Fewer targets out of reach are outliers that a bounded output may cut on purpose.
LEAST_OUT_OF_REACH = 0.1
# With so many of them most of what is to be learned cannot be said.
MOSTLY_OUT_OF_REACH = 0.4
# A loop with a loss of its own may do something else with what is in its batches.
NEARLY_ALL_OUT_OF_REACH = 0.9
# Targets just beyond an end come from rounding or noise: in their own spread.
BEYOND = 0.1
# Two classes can be told by one number; more than this many are measurements.
FEWEST_CLASSES = 3
MOST_CLASSES = 32
# An accuracy above this means what it says.
ACCURATE = 0.8
# More labels than one per row, on average.
SEVERAL_LABELS = 1.05


def class_numbers(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Class numbers compared with probabilities, number by number."""
    if head.kind not in REGRESSIONS or head.activation != "softmax":
        return None
    if (head.units or 0) < 2 or target.width != 1 or not target.whole_numbers:
        return None
    units = head.units
    text = (
        f"Labels are whole numbers from {target.minimum:g} to {target.maximum:g}, one "
        f"per row; the softmax ({head.layer.name}) gives out {units} probabilities, "
        f"and {head.loss_name} subtracts one from the other."
    )
    return verdict(
        case,
        training,
        head,
        detail="class_numbers",
        headline=f"{head.loss_name} compares class numbers with {units} probabilities",
        because="Targets, last layer and loss are exact and do not fit.",
        evidence=(Evidence(text=text), *outcome(training)),
        fixes=(
            Fix(
                title="Use the loss for class numbers",
                why=f"It takes the probability of the right one of {units} classes.",
                code='model.compile(..., loss="sparse_categorical_crossentropy")',
            ),
        ),
        severity="critical",
    )


def one_number(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Classes that are learned as if they were a measurement."""
    if head.kind not in REGRESSIONS or head.units != 1 or not head.is_certain:
        return None
    counts = target.counts
    if target.width != 1 or not target.whole_numbers or counts is None:
        return None
    if not FEWEST_CLASSES <= len(counts) <= MOST_CLASSES:
        return None
    # Numbers without a gap from 0 or 1 on: classes, not counts of something.
    if target.minimum not in (0, 1):
        return None
    if target.maximum - target.minimum != len(counts) - 1:
        return None
    name = accuracy_name(training)
    accuracies = finite(training.metric(name)) if name else []
    if not accuracies or max(accuracies) > ACCURATE:
        # Without it nobody says that these are classes.
        return None
    text = (
        f"Labels are the {len(counts)} whole numbers from {target.minimum:g} to "
        f"{target.maximum:g}; {head.loss_name} trains one number "
        f"({head.layer.name}) to lie near them."
    )
    said = f"{name} was never above {max(accuracies):.1%}: it compares that number "
    return verdict(
        case,
        training,
        head,
        detail="one_number",
        headline=f"{len(counts)} classes are trained as one number, so that accuracy "
        "says nothing",
        because="Labels, last layer and loss are exact; accuracy says that classes "
        "are meant.",
        evidence=(
            Evidence(text=text),
            Evidence(text=said + "with class numbers, digit by digit."),
        ),
        fixes=(
            Fix(
                title="Give every class a unit of its own",
                why="One number puts class 1 between 0 and 2, which classes are not.",
                code=f"keras.layers.Dense({int(target.maximum) + 1}, "
                'activation="softmax")\n'
                'model.compile(..., loss="sparse_categorical_crossentropy")',
            ),
            Fix(
                title="Or, if the order is meant, judge it as a measurement",
                why="A rating may well be one number; accuracy is not its metric.",
                code='metrics=["mae"]',
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def out_of_reach(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Targets that the last activation can never give out."""
    if head.activation not in _RANGES:
        return None
    if not head.is_certain or head.layer.settings.get("max_value"):
        return None
    low, high = _RANGES[head.activation]
    share = _share_outside(target, low, high)
    if share < LEAST_OUT_OF_REACH:
        return None
    knows_loss = head.kind in REGRESSIONS
    if not knows_loss and not _is_meant(training, head, target, share):
        return None
    reach = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more"
    text = (
        f"Targets run from {target.minimum:.4g} to {target.maximum:.4g} (mean "
        f"{target.mean:.3g}); the {head.activation} of the last layer "
        f"({head.layer.name}) gives out {reach}. About {share:.0%} are out of reach."
    )
    fixes = [
        Fix(
            title="Take the activation off the last layer",
            why="Measurements need outputs without bounds.",
            code=f"keras.layers.Dense({head.units or 1})",
        )
    ]
    if math.isfinite(high):
        fixes.append(
            Fix(
                title="Or scale the targets into its range",
                why=f"Then {head.activation} can reach all of them; scale predictions "
                "back afterwards.",
                code=f"y = (y - {target.minimum:.6g}) / "
                f"{target.maximum - target.minimum:.6g}"
                + (" * 2 - 1" if low < 0 else ""),
            )
        )
    return verdict(
        case,
        training,
        head,
        detail="out_of_reach",
        headline=f"A {head.activation} cannot reach {share:.0%} of the targets "
        f"({target.minimum:.3g} to {target.maximum:.3g})",
        because="What an activation can give out is fixed; the targets were looked at."
        if knows_loss
        else "Nearly all numbers beside the inputs are out of reach, and the loss did "
        "not fall. The loss is the program's own, and was not seen.",
        evidence=(Evidence(text=text), *outcome(training)),
        fixes=tuple(fixes),
        severity="critical" if share >= MOSTLY_OUT_OF_REACH else "warning",
        confidence="proven" if knows_loss else "likely",
    )


def _is_meant(training: Training, head: Head, target: Tensor, share: float) -> bool:
    """Without a loss that we know: numbers for this output, and it gets none right."""
    return (
        head.kind is None
        and not training.setting("loss")
        and share >= NEARLY_ALL_OUT_OF_REACH
        and target.width == head.units
        and target.whole_numbers is False
        and loss_course.has_learned(training) is False
    )


def _share_outside(target: Tensor, low: float, high: float) -> float:
    """About how many of the targets lie clearly outside."""
    margin = BEYOND * target.std
    if target.minimum >= low - margin and target.maximum <= high + margin:
        return 0.0
    if target.counts:
        total = sum(target.counts.values())
        outside = sum(
            count
            for value, count in target.counts.items()
            if not low - margin <= value <= high + margin
        )
        return outside / total
    if target.std <= 0:
        return 1.0
    # Only mean and spread are known: as many as a bell curve has there.
    bell = NormalDist(target.mean, target.std)
    above = 1 - bell.cdf(high) if math.isfinite(high) else 0.0
    below = bell.cdf(low) if target.minimum < low - margin else 0.0
    return below + (above if target.maximum > high + margin else 0.0)


def several_labels(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """A softmax chooses one, the rows have several."""
    if head.kind != "categorical" or head.activation != "softmax":
        return None
    if not target.is_multi_hot or target.ones_per_row < SEVERAL_LABELS:
        return None
    bad = learning_of(training).is_bad
    text = (
        f"Rows have {target.ones_per_row:.2g} labels on average; a softmax "
        f"({head.layer.name}) shares 1 among {head.units} classes."
    )
    return verdict(
        case,
        training,
        head,
        detail="several_labels",
        headline="A softmax chooses one class, but rows have several labels",
        because="Targets and last layer are exact; some train this way on purpose.",
        evidence=(Evidence(text=text), *outcome(training)),
        fixes=(
            Fix(
                title="Decide about every label by itself",
                why="Then several can be likely at once.",
                code=f'keras.layers.Dense({head.units}, activation="sigmoid")\n'
                'model.compile(..., loss="binary_crossentropy")',
            ),
        ),
        severity="warning" if bad else "info",
        confidence="likely",
    )
