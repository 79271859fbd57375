"""Gradients fade on their way back, so most layers hardly learn.

**What it means.** Every sigmoid or tanh multiplies the gradient by a slope of at most
0.25 or 1, and by almost 0 where the unit is saturated (at an end of its range). After
many layers nothing is left: the last layers learn, the first ones stay as they began.

**How we know.** The gradients of a good part of the layers are less than a few
thousandths of the largest ones at almost every look, or nearly all numbers that a
hidden layer gives out lie at the ends of its range; and the loss is no better than that
of one constant answer, or it fell in the first steps only and most layers had no part
in it. A deep network that learns is never named here.

**What it is mistaken for.** A learning rate that is too low (there gradients are alike
in all layers) and dead ReLUs (there they are exactly 0). Saturation often comes from
inputs that were not scaled, from large initial weights or from a learning rate that is
too high: if one of these is named, begin there.

**What to do.** Use ReLU-like activations, normalisation, residual connections and the
default initializers; scale the inputs; LSTM or GRU for long sequences.
"""

from tb_health_plugin.diagnosis import inspections, loss_course
from tb_health_plugin.diagnosis.bad_numbers import first_bad
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import names, short, times
from tb_health_plugin.diagnosis.inspections import SeenLayer, SeenVariable, middle
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict

# Untrained networks that can learn stay within a factor of 100 between their layers,
# also if they never learn. Five layers of sigmoids begin at a thousandth, eight at a
# millionth.
FADED = Option(
    "faded",
    3e-3,
    "Gradient of a layer beside the largest one, below which it has faded.",
)
SURELY_FADED = 1e-4

# With fewer layers gradients have no way to fade.
LEAST_KERNELS = 4

# Nearly all of what a layer gives out is at the ends of its range.
SATURATED = 0.9

LEAST_STEPS = 30

# So many sigmoids in a row leave less than a thousandth of a gradient.
SIGMOIDS = 5

_EXPLAINS = ("not_learning", "lr_too_low", "weights_not_updated", "undertrained")


def judge(case: Case) -> Outcome:
    training = main_training(case)
    if training is None or training.steps < LEAST_STEPS:
        return None
    bad = first_bad(case)
    if bad is not None and bad.lasting:
        return None
    stands = loss_course.has_learned(training) is False
    if not stands and loss_course.settled_at_once(training) is None:
        return None
    if not training.inspections:
        if not stands:
            return None
        return _by_settings(case, training) or inspections.gradients_not_measured(case)
    seen = inspections.looks(training)
    kernels = inspections.kernels(training, seen)
    faded = _faded(kernels, case.tuned(FADED))
    if not stands:
        # Its last layers learned something. Most others must have had no part in it.
        least = min((share for _, share in faded), default=1.0)
        is_sure = least <= SURELY_FADED and 2 * len(faded) > len(kernels)
        return _verdict(case, training, faded, []) if is_sure else None
    saturated = [one for one in inspections.layers(training, seen) if _saturated(one)]
    if not faded and not saturated:
        return None
    return _verdict(case, training, faded, saturated)


def _by_settings(case: Case, training: Training) -> Verdict | None:
    """Nobody looked, but that many sigmoids in a row let nothing through."""
    row: list[str] = []
    for layer in training.started.layers:
        if layer.activation == "sigmoid" and not layer.is_output:
            row.append(layer.name)
        elif layer.parameters or "Normalization" in layer.kind:
            if len(row) >= SIGMOIDS:
                break
            row = []
    if len(row) < SIGMOIDS:
        return None
    at = Moment(step=training.started.first_step or 0, epoch=1)
    text = f"{len(row):,} layers in a row end in a sigmoid: {names(row)}."
    return Verdict(
        id="vanishing_gradients",
        detail="sigmoids",
        severity="warning",
        confidence="possible",
        headline=f"{len(row):,} sigmoid layers in a row, and the loss does not fall",
        because="Each sigmoid lets at most a quarter of a gradient through. The "
        "gradients themselves were not looked at.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": row[0]},
        evidence=(Evidence(text=text, at=at),),
        fixes=_fixes(training, row, "faded"),
        chip="Gradients vanishing",
        explains=_EXPLAINS,
    )


def _faded(
    kernels: list[SeenVariable], limit: float
) -> list[tuple[SeenVariable, float]]:
    """Kernels whose gradients are usually tiny beside the largest, with the share."""
    if len(kernels) < LEAST_KERNELS:
        return []
    sizes = [one.gradient_sizes for one in kernels]
    largest = [
        max(inspections.known(row[look] for row in sizes), default=0.0)
        for look in range(len(kernels[0].steps))
    ]
    found = []
    for one, row in zip(kernels, sizes, strict=True):
        shares = [
            size / most for size, most in zip(row, largest, strict=True) if most > 0
        ]
        share = middle(shares)
        # Exactly 0 is another disease.
        if share is not None and 0 < share <= limit:
            found.append((one, share))
    return found if len(found) * LEAST_KERNELS >= len(kernels) else []


def _saturated(seen: SeenLayer) -> bool:
    if seen.layer.is_output or "softmax" in seen.layer.activation:
        return False
    # Where it stands in the second half of the looks; the first are before training.
    late = inspections.known(seen.saturated[len(seen.saturated) // 2 :])
    return bool(late) and min(late) >= SATURATED


def _verdict(
    case: Case,
    training: Training,
    faded: list[tuple[SeenVariable, float]],
    saturated: list[SeenLayer],
) -> Verdict:
    at = Moment(step=training.started.first_step or 0, epoch=1)
    now = loss_course.late(training)
    least = min((share for _, share in faded), default=None)
    if least is not None:
        layers = list(dict.fromkeys(one.variable.layer for one, _ in faded))
        total = {one.layer for one in training.started.variables if one.trainable}
        headline = (
            f"Gradients are near zero in {len(layers):,} of {len(total):,} layers, "
            "and the loss does not fall"
        )
        evidence = [
            Evidence(
                text=f"The gradients of {names(layers)} are down to "
                f"{times(least)} the largest ones, in most looks.",
                at=at,
            )
        ]
        detail, chip = "faded", "Gradients vanishing"
    else:
        layers = [one.layer.name for one in saturated]
        headline = f"{names(layers, 2)} saturated, and the loss does not fall"
        evidence, detail, chip = [], "saturation", "Saturated layers"
    for one in saturated[:3]:
        late = inspections.known(one.saturated)[-1]
        text = (
            f"{late:.0%} of what {one.layer.name} ({one.layer.activation}) gives out "
            "lies at the ends of its range."
        )
        evidence.append(Evidence(text=text, at=at))
    if now is not None:
        text = f"The loss stands at {short(now)}, no better than a constant answer."
        if loss_course.has_learned(training) is not False:
            text = (
                f"The loss came to {short(now)} in the first steps, and stayed there."
            )
        evidence.append(Evidence(text=text, strong=False, lane="loss", at=at))
    return Verdict(
        id="vanishing_gradients",
        detail=detail,
        severity="warning",
        confidence="likely" if least is None or least <= SURELY_FADED else "possible",
        headline=headline,
        because="The same was seen at almost every look, and the run did not learn.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": layers[0]},
        evidence=tuple(evidence),
        fixes=_fixes(training, layers, detail),
        chip=chip,
        explains=_EXPLAINS,
    )


def _fixes(training: Training, layers: list[str], detail: str) -> tuple[Fix, ...]:
    used = [
        layer.activation
        for layer in training.started.layers
        if not layer.is_output and layer.activation in ("sigmoid", "tanh")
    ]
    fixes = []
    if used:
        fixes.append(
            Fix(
                title=f"Use relu instead of {used[0]} in hidden layers",
                why=f"{len(used):,} hidden layers use {used[0]}, which passes little "
                "or no gradient at the ends of its range. Units of relu can die, "
                "though.",
                code='activation="relu", kernel_initializer="he_normal"',
            )
        )
    fixes.append(
        Fix(
            title="Normalise between layers",
            why="It keeps units in the middle of their range and gradients alike in "
            "all layers. It costs a few percent of time.",
            code="keras.layers.BatchNormalization()",
        )
    )
    if detail == "saturation":
        fixes.append(
            Fix(
                title="Scale the inputs, and start with small weights",
                why=f"{layers[0]} is driven to the ends of its range by what comes in.",
                code="normalize = keras.layers.Normalization()\n"
                "normalize.adapt(x_train)  # then make it the first layer",
            )
        )
    return tuple(fixes)


RULE = Rule(id="vanishing_gradients", judge=judge, options=(FADED,))
