"""Labels that do not exist for the model: higher than its classes, or negative."""

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Evidence, Fix

_RANGE = (
    r"Received a label value of (?P<value>-?\d+) which is outside the valid range of "
    r"\[0, (?P<classes>\d+)\)"
)
_CATEGORICAL = (
    r"index (?P<value>-?\d+) is out of bounds for axis 1 with size (?P<classes>\d+)"
)
_METRIC = r"`labels` out of bound"


def out_of_range(raised: Raised) -> Ending | None:
    """A label outside of the classes; None if this is something else."""
    found = raised.find(_RANGE)
    if found is None and raised.passes(r":to_categorical$"):
        found = raised.find(_CATEGORICAL)
    if found is not None:
        return _ending(raised, int(found["value"]), int(found["classes"]))
    return _ending(raised, None, None) if raised.find(_METRIC) else None


def _ending(raised: Raised, value: int | None, classes: int | None) -> Ending:
    if value is None or classes is None:
        headline = f"A label has no class in the model {raised.where}"
    else:
        headline = f"Label {value:,} does not exist: classes are 0 to {classes - 1:,}"
    evidence = list(raised.evidence())
    if value is not None:
        text = f"The label was {value:,}; the last layer has {classes:,} classes."
        evidence.insert(0, Evidence(text=text, at=raised.at))
    return failure(
        raised,
        id="label_problem",
        detail="out_of_range",
        headline=headline,
        because="The loss refused the label and named it.",
        evidence=tuple(evidence),
        fixes=_fixes(value, classes),
        chip="Label out of range",
    )


def _fixes(value: int | None, classes: int | None) -> tuple[Fix, ...]:
    recode = Fix(
        title="Code the labels as 0, 1, 2, …",
        why="Sparse losses take the number of a class, counted from 0.",
        code="classes, y = np.unique(y, return_inverse=True)",
    )
    if value is None or classes is None or value < 0:
        return (recode,)
    if value == classes:
        count_from_zero = Fix(
            title="Count labels from 0, if yours begin with 1",
            why=f"The highest allowed one is {classes - 1:,}, and {value:,} was given.",
            code="y = y - 1",
        )
        return (count_from_zero, _widen(value))
    return (_widen(value), recode)


def _widen(value: int) -> Fix:
    return Fix(
        title="Give the last layer one unit per class",
        why=f"Label {value:,} needs at least {value + 1:,}.",
        code=f"keras.layers.Dense({value + 1})",
    )
