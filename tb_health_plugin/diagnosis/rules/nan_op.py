"""An operation of the model, the loss or the optimizer made the first NaN.

**What it means.** The data was clean and the training was calm, and then one operation
got a number it cannot work with: a logarithm or root of 0 or less, a division by 0, an
exponential of a large number, or a number type with too little range (float16).

**How we know.** The step was looked at again, layer by layer. The place named here is
the first that gave out a NaN or an infinite number while everything before it was
finite.

**What it is mistaken for.** A learning rate that is too high (there the loss grows for
some steps before it breaks) and NaN in the data (there the batch already holds it).

**What to do.** Keep the operation away from the edge: add a small epsilon, clip its
input, use a form that is stable (from_logits=True, softplus instead of log(1 +
exp(x))). With float16, use mixed_float16, which keeps the weights in float32 and scales
the loss.
"""

import math

from tb_health_plugin.diagnosis import learning_rate
from tb_health_plugin.diagnosis.bad_numbers import (
    BadNumber,
    explained_ends,
    first_bad,
    stop_at_nan,
    waste,
)
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import short, times
from tb_health_plugin.diagnosis.inspections import layer_named
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Verdict

# The smallest epsilon of an optimizer that is not 0 in float16.
_LEAST_HALF_EPSILON = 6e-8

_PLACES = {
    "layer": "in a layer",
    "loss": "in the loss",
    "gradient": "in the gradients",
    "update": "in the optimizer",
    "weights": "in the weights",
}


def judge(case: Case) -> Verdict | None:
    bad = first_bad(case)
    if bad is None or not bad.lasting or bad.origin not in ("operation", "jump"):
        return None
    half = _is_half(bad.training)
    place, words = _place(bad)
    step = "" if bad.step is None else f" at step {bad.step:,}"
    first = "infinite number" if bad.word == "infinite" else "NaN"
    headline = f"The first {first} came up {words}{step}"
    if bad.origin == "jump":
        headline = f"A batch on another scale made the first {first}{step}"
    elif not _is_located(bad):
        headline = f"The loss became {bad.word}{step}, after normal losses"
        if not _has_normal(bad):
            headline = f"The loss was {bad.word} when it was first seen{step}"
        if bad.is_hidden:
            headline = f"Weights are {bad.word}{step}, and the loss does not show it"
        if half:
            headline = f"The loss became {bad.word}{step}, in float16"
    return Verdict(
        id="nan_op",
        detail=_detail(bad, half),
        severity="critical",
        confidence=_confidence(bad, half),
        headline=headline,
        because=_because(bad),
        cause_at=bad.at,
        stopped_at=case.stopped_at,
        place=place,
        evidence=(*_evidence(bad, half), *waste(bad, case)),
        fixes=(*_fixes(bad, half), stop_at_nan(bad.training)),
        chip="NaN loss",
        explains=(
            "exploding_gradients",
            "vanishing_gradients",
            "lr_too_high",
            *explained_ends(case),
        ),
    )


def _place(bad: BadNumber) -> tuple[dict[str, str | int], str]:
    fact = bad.fact
    place: dict[str, str | int] = {}
    words = _PLACES.get(fact.began_in or "", "in a place that was not seen")
    if fact.began_in == "layer" and fact.name:
        place["layer"] = fact.name
        words = f"in layer {fact.name}"
    elif fact.name:
        place["variable"] = fact.name
    if fact.op:
        place["op"] = fact.op
    if fact.row is not None:
        place["row"] = fact.row
    return place, words


def _detail(bad: BadNumber, half: bool) -> str:
    if bad.origin == "jump":
        return "input_scale"
    return "float16" if half else bad.fact.began_in or "unknown"


def _is_located(bad: BadNumber) -> bool:
    return bad.fact.began_in not in (None, "unknown", "weights")


def _confidence(bad: BadNumber, half: bool) -> Confidence:
    if bad.origin == "jump":
        return "likely"
    if not _is_located(bad):
        return "likely" if half else "possible"
    return "proven" if bad.fact.exact else "likely"


def _has_normal(bad: BadNumber) -> bool:
    """A loss before it is known."""
    looks = [i.loss for i in bad.training.inspections if i.loss is not None]
    parts = [loss for e in bad.training.epochs for loss in e.loss_profile]
    return any(map(math.isfinite, (*bad.fact.losses_before, *looks, *parts)))


def _because(bad: BadNumber) -> str:
    if bad.fact.how:
        return f"{bad.fact.how[0].upper()}{bad.fact.how[1:].rstrip('.')}."
    if not _is_located(bad) and not _has_normal(bad):
        return (
            "No loss was seen before, nor a bad number in the data; the step itself "
            "could not be looked at."
        )
    if not _is_located(bad):
        return (
            "The loss was normal before and no bad number was seen in the data; the "
            "step itself could not be looked at."
        )
    if bad.fact.exact:
        return "The step was looked at again with the batch and weights it had."
    return "The step was looked at again with weights of shortly before."


def _evidence(bad: BadNumber, half: bool) -> list[Evidence]:
    fact, found = bad.fact, []
    _, words = _place(bad)
    by = f" ({fact.op})" if fact.op else f" ({fact.kind})" if fact.kind else ""
    if _is_located(bad):
        text = f"The first number that is {bad.word} came up {words}{by}."
        found.append(Evidence(text=text, lane="loss", at=bad.at))
    if bad.origin == "jump" and fact.input_scale and fact.usual_input_scale:
        text = (
            f"The inputs of that batch reach {short(fact.input_scale)}; those before "
            f"reached {short(fact.usual_input_scale)}: "
            f"{times(fact.input_scale / fact.usual_input_scale)}."
        )
        found.insert(0, Evidence(text=text, at=bad.at))
    losses = [loss for loss in fact.losses_before if math.isfinite(loss)]
    if losses and bad.origin == "operation":
        text = f"The loss was normal just before: {short(losses[-1])}."
        found.append(Evidence(text=text, strong=False, lane="loss", at=bad.at))
    if half:
        text = f"The weights are float16{_epsilon(bad.training)}."
        found.append(Evidence(text=text, at=bad.at))
    if not found:
        epoch = "" if bad.at.epoch is None else f" of epoch {bad.at.epoch}"
        text = f"The loss{epoch} is {bad.word}."
        found.append(Evidence(text=text, lane="loss", at=bad.at))
    return found


def _epsilon(training: Training) -> str:
    epsilon = training.number("optimizer.epsilon")
    if epsilon is None or epsilon >= _LEAST_HALF_EPSILON:
        return ", which ends at 65,504 and knows nothing below 6e-8"
    name = training.setting("optimizer") or "the optimizer"
    return f", where the epsilon of {name}, {epsilon:g}, is 0"


def _is_half(training: Training) -> bool:
    if training.setting("dtype_policy") == "float16":
        return True
    types = [v.dtype for v in training.started.variables if v.trainable is not False]
    return bool(types) and all(dtype == "float16" for dtype in types)


def _fixes(bad: BadNumber, half: bool) -> list[Fix]:
    fixes = []
    if bad.origin == "jump":
        fixes.append(
            Fix(
                title="Bring all data to the same scale",
                why="The batches before were on another scale, and trained well.",
                code="normalize = keras.layers.Normalization()\n"
                "normalize.adapt(x_train)",
            )
        )
    if half:
        fixes.append(
            Fix(
                title="Use mixed_float16 instead of float16",
                why="It computes in float16, keeps the weights in float32 and scales "
                "the loss. The model takes more memory, not more time.",
                code='keras.mixed_precision.set_global_policy("mixed_float16")',
            )
        )
        return fixes
    fixes.append(_place_fix(bad))
    return fixes


def _place_fix(bad: BadNumber) -> Fix:
    fact = bad.fact
    if fact.began_in == "layer" and fact.name:
        layer = layer_named(bad.training, fact.name)
        own = " It is a class of your own." if layer and layer.is_custom else ""
        return Fix(
            title=f"Keep the input of {fact.name} where its operation is defined",
            why="Its inputs were finite and what it gave out was not: log and sqrt "
            f"need more than 0, division anything but 0, exp less than 88.{own}",
            code="x = ops.clip(x, 1e-7, 1e7)",
        )
    if fact.began_in == "loss":
        return Fix(
            title="Use a loss that is stable near its edge",
            why=f"What the model gave out was finite; the loss "
            f"({bad.training.setting('loss') or 'your own'}) made it {bad.word}.",
            code=_stable_loss(bad.training),
        )
    if fact.began_in == "update":
        name = bad.training.setting("optimizer") or "the optimizer"
        return Fix(
            title=f"Give {name} a larger epsilon",
            why="The gradients were finite and the weights after the update were not. "
            "Where gradients are small, steps become smaller.",
            code=learning_rate.line(bad.training, epsilon="1e-4"),
        )
    if fact.began_in == "gradient":
        return Fix(
            title="Look for sqrt, norm or division at 0, and for where() around them",
            why="The loss was finite; its derivative was not. sqrt(x) and norm(x) "
            "have no finite derivative at 0, and where() does not hide it.",
            code="ops.sqrt(x + 1e-7)",
        )
    if not bad.fact.fields:
        return Fix(
            title="Make sure that the data holds no NaN and nothing infinite",
            why="The batch of that step was not looked at, and one such number in it "
            "looks the same.",
            code="tf.debugging.assert_all_finite(x, 'bad input')\n"
            "tf.debugging.assert_all_finite(y, 'bad target')",
        )
    return Fix(
        title="Find the operation with TensorFlow's own check",
        why="It stops at the first operation that makes a NaN and names its line. It "
        "makes steps about 1.5 times as long, so switch it off again.",
        code="tf.debugging.enable_check_numerics()",
    )


def _stable_loss(training: Training) -> str:
    loss = (training.setting("loss") or "").lower().replace("_", "")
    if "binarycrossentropy" in loss:
        return (
            "keras.losses.BinaryCrossentropy(from_logits=True)  "
            "# and no sigmoid at the end"
        )
    return "ops.log(ops.maximum(x, 1e-7))  # likewise for sqrt and division"


RULE = Rule(id="nan_op", judge=judge)
