"""NaN or infinite numbers in the data that the model trains on.

**What it means.** An empty cell, a division by zero, a logarithm of 0 or a broken
record put a NaN or an infinite number into the features or the targets. One such number
makes the loss NaN, then every gradient, then every weight, and nothing repairs them.

**How we know.** The batch of the first bad step was looked at before it went into the
model, and it already held the bad number. Losses and gradients before it were normal.

**What it is mistaken for.** A learning rate that is too high. There the loss grows over
several steps before it breaks, and the data is clean.

**What to do.** Find the row that is named here, then drop or fill missing values before
training. If the numbers are wanted as marks for "missing" and your loss masks them,
there is nothing to do: then the loss stays a number and this is only a note.
"""

import math
import re

from tb_health_plugin.diagnosis.bad_numbers import (
    BadNumber,
    bad_batch,
    bad_fields,
    explained_ends,
    first_bad,
    stop_at_nan,
    waste,
)
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.events import facts

_ROLES = {"input": "inputs", "target": "targets", "weight": "sample weights"}


def judge(case: Case) -> Verdict | None:
    bad = first_bad(case)
    if bad is not None:
        return _broke(case, bad) if bad.origin == "data" else None
    training = main_training(case)
    if training is None:
        return None
    return _harmless(case, training) or _validation(case, training)


def _broke(case: Case, bad: BadNumber) -> Verdict:
    batch = bad_batch(bad.training, bad.step)
    field = _field(bad.fact, batch)
    if field is None and bad.fact.began_in not in ("input", "target"):
        return _by_exclusion(case, bad)
    role = field.role if field else bad.fact.began_in or "input"
    at = bad.at
    exact = bool(bad_fields(bad.fact)) or bad.fact.exact is True
    where = "" if at.step is None else f" at step {at.step:,}"
    what = _ROLES.get(role, role)
    kind = "Infinite numbers" if bad.fact.value == "inf" else "NaN values"
    headline = f"{kind} in the {what} reached the model{where}"
    if not bad.lasting:
        headline = f"{kind} in the {what}{where}; the training got over them"
    return Verdict(
        id="bad_input_values",
        detail=role,
        severity="critical" if bad.lasting else "info",
        confidence="proven" if exact else "likely",
        headline=headline,
        because="The batch held the bad number before the model saw it."
        if exact
        else "A batch that was looked at before that step held bad numbers.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place=_place(field, bad.fact, batch),
        evidence=(
            *_seen(field, bad.fact.row, at),
            *_normal_before(bad),
            *waste(bad, case),
        ),
        fixes=(*_fixes(bad.training, field, role), stop_at_nan(bad.training)),
        chip="NaN in data",
        explains=(
            "nan_op",
            "lr_too_high",
            "exploding_gradients",
            "vanishing_gradients",
            "unscaled_data",
            *explained_ends(case),
        ),
    )


def _by_exclusion(case: Case, bad: BadNumber) -> Verdict:
    """The batch was not seen, but nothing else in this model can make a NaN."""
    loss = bad.training.setting("loss") or "its loss"
    text = f"The model has only layers of Keras and {loss}, in float32."
    what, shown = _without_the_batch(bad)
    return Verdict(
        id="bad_input_values",
        detail="unseen",
        severity="critical",
        confidence="possible",
        headline=f"Probably NaN in the data: {what}",
        because="Losses were normal up to then, and layers and loss of this model make "
        "no NaN out of finite numbers. The batch itself was not looked at.",
        cause_at=bad.at,
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(text=shown, at=bad.at),
            Evidence(text=text, strong=False, at=bad.at),
            *_normal_before(bad),
            *waste(bad, case),
        ),
        fixes=(
            Fix(
                title="Look for missing values in the data",
                why="One NaN or infinite number in one row is enough.",
                code="assert np.isfinite(x).all() and np.isfinite(y).all()",
            ),
            # It looks at the loss alone.
            *(() if bad.is_hidden else (stop_at_nan(bad.training),)),
        ),
        chip="NaN in data",
        explains=("nan_op", *explained_ends(case)),
    )


def _without_the_batch(bad: BadNumber) -> tuple[str, str]:
    """What went bad, in a few words and in a sentence."""
    step = "" if bad.step is None else f" at step {bad.step:,}"
    if not bad.is_hidden:
        return f"the loss became NaN{step}", (
            "The loss became NaN from one step to the next."
        )
    names = bad.fact.bad_variables[:1] or ("a weight",)
    good = bad.fact.steps_before[-1:]
    since = f"after step {good[0]:,}" if good else "before it was looked at"
    return f"{names[0]} became NaN {since}", (
        f"{names[0]} is NaN{step}, and the loss stayed a number: a rectifier can turn "
        "NaN into 0. What it hides no longer learns."
    )


def _harmless(case: Case, training: Training) -> Verdict | None:
    """Bad numbers in the data, and a loss that stayed a number all the same."""
    batch = bad_batch(training, None)
    if batch is None:
        return None
    field = bad_fields(batch)[0]
    what = _ROLES.get(field.role, field.role)
    at = training.at(batch, batch.epoch)
    return Verdict(
        id="bad_input_values",
        detail="masked",
        severity="info",
        confidence="proven",
        headline=f"The {what} hold NaN or infinite numbers; the loss stayed finite",
        because="A batch held them; something masks or replaces them.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place=_place(field, None, batch),
        evidence=_seen(field, None, at),
        fixes=(
            Fix(
                title="Make sure that this is wanted",
                why="Marks for missing values are fine if a layer or the loss masks "
                "them. Else they are lost silently. This shows where they are.",
                code=f"print(np.argwhere(~np.isfinite({_variable(field.role)}))[:10])",
            ),
        ),
        chip="NaN, masked",
    )


def _validation(case: Case, training: Training) -> Verdict | None:
    """Validation is NaN while training is not: the validation data differs."""
    for epoch in training.epochs:
        loss, checked = epoch.metrics.get("loss"), epoch.metrics.get("val_loss")
        if loss is None or checked is None or not epoch.validation_steps:
            continue
        if math.isfinite(loss) and math.isnan(checked):
            at = training.at(epoch, epoch.epoch)
            return Verdict(
                id="bad_input_values",
                detail="validation",
                severity="warning",
                confidence="possible",
                headline=f"The validation loss is NaN since epoch {at.epoch}; "
                "the training loss is not",
                because="The same weights give a finite loss on the training data, so "
                "the validation data is what differs. It was not looked at itself.",
                cause_at=at,
                stopped_at=case.stopped_at,
                evidence=(
                    Evidence(
                        text=f"In epoch {at.epoch} the loss was {short(loss)} and the "
                        "validation loss was NaN.",
                        lane="loss",
                        at=at,
                    ),
                ),
                fixes=(
                    Fix(
                        title="Look for missing values in the validation data",
                        why="One NaN there makes the validation loss NaN, and with it "
                        "whatever watches it: early stopping, checkpoints.",
                        code="assert np.isfinite(x_val).all() and "
                        "np.isfinite(y_val).all()",
                    ),
                ),
                chip="NaN validation",
            )
    return None


def _field(
    fact: facts.FirstBadNumber, batch: facts.BatchSeen | None
) -> facts.Field | None:
    found = bad_fields(fact) or (bad_fields(batch) if batch else [])
    named = [field for field in found if field.name == fact.name]
    return next(iter(named or found), None)


def _place(
    field: facts.Field | None,
    fact: facts.FirstBadNumber | None,
    batch: facts.BatchSeen | None,
) -> dict[str, str | int]:
    place: dict[str, str | int] = {}
    name = field.name if field else fact.name if fact else None
    if name:
        place["field"] = name
    row = field.bad_row if field else fact.row if fact else None
    if row is not None:
        place["row"] = row
    if batch is not None and batch.batch is not None:
        place["batch"] = batch.batch
    return place


def _seen(
    field: facts.Field | None, row: int | None, at: Moment
) -> tuple[Evidence, ...]:
    if field is None:
        where = "" if row is None else f", first in row {row}"
        text = f"The batch holds numbers that are NaN or infinite{where}."
        return (Evidence(text=text, lane="loss", at=at),)
    count = field.nonfinite_count or 0
    verb = "is" if count == 1 else "are"
    row = field.bad_row if field.bad_row is not None else row
    where = "" if row is None else f", first in row {row} of the batch"
    total = math.prod(field.shape) if field.shape else 0
    of = f" of {total:,}" if total else ""
    text = f"{count:,}{of} numbers in {field.name} {verb} NaN or infinite{where}."
    return (Evidence(text=text, lane="loss", at=at),)


def _normal_before(bad: BadNumber) -> tuple[Evidence, ...]:
    losses = [loss for loss in bad.fact.losses_before if math.isfinite(loss)]
    if not losses:
        return ()
    text = f"The loss was normal just before: {short(losses[-1])}."
    return (Evidence(text=text, strong=False, lane="loss", at=bad.at),)


def _rows(training: Training, field: facts.Field | None) -> int | str:
    """How many rows a batch has, as it was seen or set."""
    seen = field.shape[0] if field and field.shape else None
    return seen or training.setting("batch_size") or 32


def _variable(role: str) -> str:
    """What such data is mostly called in a program."""
    return {"input": "x", "target": "y"}.get(role, role)


def _fixes(training: Training, field: facts.Field | None, role: str) -> tuple[Fix, ...]:
    named = _named(field, role)
    name = _variable(role) + (f'["{named}"]' if named else "")
    kind = training.setting("data.kind")
    dims = len(field.shape) if field else 2
    if kind == "tf.data":
        code = (
            "dataset = dataset.unbatch().filter(\n"
            f"    lambda x, y: tf.reduce_all(tf.math.is_finite({name})))"
            f".batch({_rows(training, field)})"
        )
    else:
        axes = f"{name}.reshape(len({name}), -1)" if dims != 1 else f"{name}[:, None]"
        code = f"good = np.isfinite({axes}).all(axis=1)\n"
        if named:
            part, other = ("y", "x") if role == "target" else ("x", "y")
            code += (
                f"{part} = {{name: one[good] for name, one in {part}.items()}}\n"
                f"{other} = {other}[good]"
            )
        else:
            code += "x, y = x[good], y[good]"
    return (
        Fix(
            title="Drop the rows with such values, or fill them in",
            why="One bad number makes the loss NaN, then gradients, then all weights. "
            "Rows that are dropped teach nothing: look how many they are.",
            code=code,
        ),
    )


def _named(field: facts.Field | None, role: str) -> str | None:
    """The key of a tensor in a dict; None if it is none, or lies deeper."""
    name = field.name if field else ""
    if role not in ("input", "target") or name == _variable(role):
        return None
    return name if name and not re.search(r"[.\[]", name) else None


RULE = Rule(id="bad_input_values", judge=judge)
