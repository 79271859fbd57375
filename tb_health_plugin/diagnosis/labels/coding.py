"""Labels in another coding than the loss reads."""

import re

from tb_health_plugin.diagnosis.batches import Tensor, target_field
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.heads import Head
from tb_health_plugin.diagnosis.labels.wrong_labels import first, outcome, verdict
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Resizing and label smoothing lead a little beyond 0 and 1; a wrong coding far.
BEYOND = 0.05
# As many different numbers are still classes; more are measurements.
MOST_CLASSES = 32
# A few rows without a class may be left out on purpose.
LEAST_WITHOUT_CLASS = 0.05
LEAST_ROWS = 96
# What TensorFlow says when a label has no unit.
_NO_UNIT = re.compile(
    r"label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
)


def refused(case: Case, training: Training) -> Verdict | None:
    """The step failed, and said itself that a label was out of range."""
    ended = training.ended
    match = _NO_UNIT.search((ended.message or "") if ended else "")
    if ended is None or match is None:
        return None
    label, units = match.groups()
    text = f"The step failed: label {label} is outside of 0 to {int(units) - 1}."
    return verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Label {label} has no output: the last layer has {units} units",
        chip="Wrong labels",
        because="The operation that failed said so itself.",
        evidence=(Evidence(text=text, at=training.at(ended)),),
        fixes=_renumber(int(label), int(units)),
        at=training.at(ended),
    )


def fractions(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Fractions where class numbers are needed."""
    if target.whole_numbers is not False:
        return None
    low, high = int(target.minimum), int(target.maximum)
    left = (
        f"all of them become {low}" if low == high else f"they become {low} to {high}"
    )
    text = (
        f"Labels run from {target.minimum:.4g} to {target.maximum:.4g} and are not "
        f"whole; {head.loss_name} cuts them to whole numbers, so {left}."
    )
    scaled = (
        f"{target.minimum:.3g} to {target.maximum:.3g}"
        if target.std
        else f"{target.minimum:.3g}"
    )
    return verdict(
        case,
        training,
        detail="fractions",
        headline=f"Labels are fractions ({scaled}) where class numbers are needed",
        chip="Wrong labels",
        because="The labels of the batches and the loss do not fit, number by number.",
        evidence=(Evidence(text=text, at=first(training)), *outcome(training)),
        fixes=(
            Fix(
                title="Leave the labels as they are; scale only the inputs",
                why=f"{head.loss_name} takes whole numbers from 0 to "
                f"{(head.units or 1) - 1}.",
                code='y = y.astype("int64")  # before any division',
            ),
        ),
        severity="critical",
    )


def no_unit(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Class numbers for which the last layer has no unit."""
    units = head.units
    if units is None or not head.is_certain or "ignore_class" in _given(head.loss):
        return None
    if target.minimum >= 0 and target.maximum < units:
        return None
    wrong = target.minimum if target.minimum < 0 else target.maximum
    text = (
        f"Labels run from {target.minimum:g} to {target.maximum:g}; the last layer "
        f"({head.layer.name}) has {units} units, for labels 0 to {units - 1}."
    )
    return verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Label {wrong:g} has no output: the last layer has {units} units",
        chip="Wrong labels",
        because="Labels and units are exact numbers, and they do not fit.",
        evidence=(Evidence(text=text, at=first(training)), *outcome(training)),
        fixes=_renumber(int(wrong), units),
        severity="critical",
    )


def no_class(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Rows of zeros where one of them should say the class."""
    if head.kind != "categorical" or (target.width or 0) < 2:
        return None
    losses = training.metric("loss")
    if target.magnitude > 0 or not losses or any(loss != 0 for loss in losses):
        return None
    text = (
        f"All {target.rows:,} rows of labels that were looked at hold nothing but 0, "
        f"in {target.width} columns; the loss is 0 in every epoch."
    )
    return verdict(
        case,
        training,
        detail="no_class",
        headline="The labels name no class: every row is 0, and so is the loss",
        chip="Wrong labels",
        because=f"{head.loss_name} adds up the columns that are 1, and there are none.",
        evidence=(Evidence(text=text, at=first(training)),),
        fixes=(
            Fix(
                title="Look at how the labels are made into columns",
                why="Names that differ by a space or a letter, or numbers compared "
                "with text, match no column.",
                code="print(y.sum(axis=1))  # must be 1 in every row",
            ),
        ),
        severity="critical",
    )


def some_without_class(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Fewer classes than rows: some rows are all 0, and cost nothing."""
    if head.kind != "categorical" or target.rows < LEAST_ROWS or not target.std:
        return None
    missing = 1 - target.ones_per_row
    if not target.is_multi_hot or missing < LEAST_WITHOUT_CLASS:
        return None
    text = (
        f"{target.rows:,} rows of labels were looked at, in {target.width} columns; "
        f"they hold {round((1 - missing) * target.rows):,} ones."
    )
    empty = _columns_without(training)
    columns = f" In {empty} of the columns nothing was ever 1." if empty else ""
    return verdict(
        case,
        training,
        detail="no_class",
        headline=f"About {missing:.0%} of the rows name no class: their labels are "
        "all 0",
        chip="Wrong labels",
        because=f"{head.loss_name} adds up the columns that are 1: such a row costs "
        "nothing, whatever the model says of it.",
        evidence=(
            Evidence(text=text + columns, at=first(training)),
            *outcome(training),
        ),
        fixes=(
            Fix(
                title="Number the classes from 0 before they become columns",
                why="A class number beyond the last column makes a row of zeros. If "
                "these rows are to be left out, leave them out of the data.",
                code=f"one_hot = tf.one_hot(y - tf.reduce_min(y), {target.width})",
            ),
            Fix(
                title="See which rows they are",
                why="One class that has no column, or names that match none.",
                code="print((y.sum(axis=1) == 0).mean(), y.sum(axis=0))",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _columns_without(training: Training) -> int:
    """Columns that had one value in every batch that was looked at."""
    seen = [target_field(batch) for batch in training.batches]
    return min((one.constant_features or 0 for one in seen if one), default=0)


def beyond_one(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Labels of another coding than 0 to 1."""
    if target.minimum >= -BEYOND and target.maximum <= 1 + BEYOND:
        return None
    counts = target.counts
    if counts is None or len(counts) > MOST_CLASSES:
        # Measurements or pixels, not labels: unscaled_data speaks of them.
        return None
    values = sorted(counts)
    shown = names([f"{value:g}" for value in values], 4)
    text = (
        f"Labels are {shown}; {head.loss_name} needs numbers from 0 to 1 and has no "
        "lowest value with others."
    )
    losses = [loss for loss in training.metric("loss") if loss < 0]
    below = (
        (Evidence(text=f"The loss went below 0, to {min(losses):.4g}.", lane="loss"),)
        if losses
        else ()
    )
    return verdict(
        case,
        training,
        detail="out_of_range",
        headline=f"Labels are {shown}, but {head.loss_name} needs 0 to 1",
        chip="Wrong labels",
        because="The labels of the batches and the loss do not fit, number by number.",
        evidence=(
            Evidence(text=text, at=first(training)),
            *below,
            *outcome(training),
        ),
        fixes=_to_zero_one(values, head),
        severity="critical",
    )


def _to_zero_one(values: list[float], head: Head) -> tuple[Fix, ...]:
    two = (
        Fix(
            title="Map the labels to 0 and 1",
            why=f"They are {values[0]:g} and {values[-1]:g}. Change training and "
            "validation labels alike.",
            code=f'y = (y == {values[-1]:g}).astype("float32")',
        ),
    )
    if len(values) == 2:
        return two
    if len(values) == 1:
        return (
            Fix(
                title="Map the labels to 0 and 1",
                why=f"Only {values[0]:g} was seen; look at how labels are made.",
                code="print(np.unique(y, return_counts=True))",
            ),
        )
    return (
        Fix(
            title=f"Use one output unit per class, for the {len(values)} values seen",
            why=f"{head.loss_name} knows only yes and no. Labels must begin at 0.",
            code=f'keras.layers.Dense({len(values)}, activation="softmax")\n'
            'model.compile(..., loss="sparse_categorical_crossentropy")',
        ),
    )


def _renumber(label: int, units: int) -> tuple[Fix, ...]:
    number = Fix(
        title="Number the classes from 0",
        why=f"The last layer has {units} units, for labels 0 to {units - 1}.",
        code="classes, y = np.unique(y, return_inverse=True)",
    )
    if label < units:
        return (number,)
    more = Fix(
        title=f"Or give the last layer {label + 1} units",
        why=f"If class {label} is meant to be there and numbering begins at 0.",
        code=f"keras.layers.Dense({label + 1})",
    )
    return (number, more) if label == units else (more, number)


def _given(loss: str) -> str:
    """The settings of a loss that are not None."""
    return re.sub(r"\w+=None", "", loss)
