"""A layer of ReLUs gives out nothing but 0, so nothing before it learns.

**What it means.** A ReLU gives out 0 for every input below 0, and passes no gradient
there. If all units of a layer are below 0 for all rows, the layer is dead: it tells
later layers nothing, and neither it nor any layer before it gets a gradient. It cannot
come back by itself.

**How we know.** All units of the layer gave out exactly 0 for every row of every batch
that was looked at, from the named step on, and the gradients of its weights were
exactly 0. In loops of your own, where outputs are not looked at: no weight changes,
and the output layer is a ReLU.

**What it is mistaken for.** Sparse layers. Many zeros for a given row are healthy, as
long as units fire for some rows. Vanishing gradients are small, not exactly 0.

**What to do.** If it was dead from the start, its bias or its initial weights are far
negative: use the defaults. If it died during training, a large step threw it there:
lower the learning rate, or use LeakyReLU, ELU or GELU, which pass a gradient below 0.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis import inspections, learning_rate, loss_course
from tb_health_plugin.diagnosis.bad_numbers import first_bad
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import looks, names, short
from tb_health_plugin.diagnosis.inspections import SeenLayer, SeenVariable
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.magnitudes import data_scale
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.events import facts

_RECTIFIERS = ("relu", "relu6", "thresholded_relu")

# All units, for every row. One of a thousand may flicker.
ALL_DEAD = 0.999
# Nearly all: enough to explain a run that does not learn.
NEARLY_ALL_DEAD = 0.95

# A batch of few rows can be all zeros by chance, but not so many times in a row. In a
# run that does not learn once is enough.
LEAST_LOOKS = 3

# A look until here shows the layer about as it began.
EARLY_STEPS = 3

# Weights that shrank below this share of what they were did not die, they were
# crushed by a penalty.
CRUSHED = 0.01


# Weights of the usual size bring what comes in to about its own size, rarely to a few
# times the largest input.
FAR_BELOW = 3.0

_EXPLAINS = ("vanishing_gradients", "not_learning", "lr_too_low", "undertrained")


@dataclass(frozen=True, slots=True)
class _Dead:
    seen: SeenLayer
    variables: list[SeenVariable]
    since: int
    whole: bool


def judge(case: Case) -> Outcome:
    training = main_training(case)
    if training is None or not training.steps or not _rectifiers(training):
        return None
    bad = first_bad(case)
    if bad is not None and bad.lasting:
        return None
    if not training.inspections:
        return _by_settings(case, training) or inspections.gradients_not_measured(case)
    seen = inspections.looks(training)
    every = inspections.variables(training, seen)
    learned = loss_course.has_learned(training)
    feeding = _feeding(training, every)
    dead = [
        found
        for layer in inspections.layers(training, seen)
        if _can_die(layer)
        and (found := _dead(layer, feeding[layer.layer.name], learned))
    ]
    if dead:
        return _verdict(case, training, dead, learned)
    return None if learned else _by_rest(case, training, every)


def _by_rest(
    case: Case, training: Training, every: list[SeenVariable]
) -> Verdict | None:
    """Nobody saw what layers give out, but all rests behind a ReLU at the very end."""
    (head,) = training.output_layers[-1:] or (None,)
    known = [one for one in every if len(inspections.known(one.weights)) >= LEAST_LOOKS]
    if head is None or head.activation not in _RECTIFIERS or not known:
        return None
    flows = any(gradient > 0 for one in every for gradient in one.gradients)
    if flows or any(one.moved for one in known) or len(known) < len(every):
        return None
    at = training.at(training.started)
    count = len(inspections.known(known[0].weights))
    return Verdict(
        id="dead_relu",
        detail="output",
        severity="critical",
        confidence="likely",
        headline=f"The output layer {head.name} seems dead: its ReLU gives out 0 for "
        "every row, and nothing learns",
        because="A ReLU below 0 passes no gradient, and at the output that rests the "
        "whole model. What it gives out was not looked at.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": head.name},
        evidence=(
            Evidence(
                text=f"None of the {len(every):,} variables changed in {looks(count)}.",
                at=at,
            ),
            Evidence(text=f"The activation of {head.name} is {head.activation}."),
        ),
        fixes=(
            Fix(
                title=f"Leave the activation of {head.name} out, or use softplus",
                why="Both can give out small numbers and still learn. Without one, "
                "predictions may be a little below 0.",
                code=f"keras.layers.{head.kind}({head.units or 'units'}, "
                'activation="softplus")',
            ),
            Fix(
                title="See that predictions are all 0",
                why="If they are not, gradients are applied to something else than "
                "this model.",
                code="print(model(x[:8]))",
            ),
        ),
        chip="Dead ReLU",
        explains=("weights_not_updated", *_EXPLAINS),
    )


def _by_settings(case: Case, training: Training) -> Verdict | None:
    """Nobody looked, but a bias that far below 0 leaves no doubt."""
    if loss_course.has_learned(training) is not False:
        return None
    scale = data_scale(training, "input") or 1.0
    at = Moment(step=training.started.first_step or 0, epoch=1)
    for layer in training.started.layers:
        told = layer.settings.get("bias_initializer", "")
        found = re.match(r"Constant\(.*?value=([-\d.e+]+)", told)
        bias = float(found.group(1)) if found else 0.0
        if layer.activation not in _RECTIFIERS or bias > -FAR_BELOW * max(1.0, scale):
            continue
        text = f"The bias of {layer.name} begins at {short(bias)}; inputs reach "
        return Verdict(
            id="dead_relu",
            detail="from_start",
            severity="critical",
            confidence="likely",
            headline=f"{layer.name} begins so far below 0 that no unit can fire "
            f"(bias {short(bias)})",
            because="Its settings say so, and the loss does not fall. What it gives "
            "out was not looked at.",
            cause_at=at,
            stopped_at=case.stopped_at,
            place={"layer": layer.name},
            evidence=(Evidence(text=f"{text}{short(scale)}.", at=at),),
            fixes=_fixes_at_start(layer),
            chip="Dead ReLU",
            explains=_EXPLAINS,
        )
    return None


def _rectifiers(training: Training) -> bool:
    return any(layer.activation in _RECTIFIERS for layer in training.started.layers)


def _can_die(seen: SeenLayer) -> bool:
    slope = seen.layer.settings.get("negative_slope", "0")
    return seen.layer.activation in _RECTIFIERS and slope in ("0", "0.0", "")


def _feeding(
    training: Training, every: list[SeenVariable]
) -> dict[str, list[SeenVariable]]:
    """By layer its variables, or those of the last one before it that has some."""
    own: dict[str | None, list[SeenVariable]] = {}
    for one in every:
        own.setdefault(one.variable.layer, []).append(one)
    found: dict[str, list[SeenVariable]] = {}
    last: list[SeenVariable] = []
    for layer in training.started.layers:
        last = own.get(layer.name, last)
        found.setdefault(layer.name, last)
    return found


def _dead(
    seen: SeenLayer, variables: list[SeenVariable], learned: bool | None
) -> _Dead | None:
    since = _since(seen.dead, ALL_DEAD, 1 if learned is False else LEAST_LOOKS)
    whole = since is not None
    if since is None and learned is False:
        since = _since(seen.dead, NEARLY_ALL_DEAD, LEAST_LOOKS)
    if since is None or _crushed(variables):
        return None
    rests = all(
        not gradient > 0 for one in variables for gradient in one.gradients[since:]
    )
    if whole and not rests:
        return None
    return _Dead(seen, variables, since, whole)


def _since(shares: Sequence[float], least: float, looks: int) -> int | None:
    """The look from which on every one is at least that; None if they are too few."""
    first = len(shares)
    while first > 0 and shares[first - 1] >= least:
        first -= 1
    return first if len(shares) - first >= looks else None


def _crushed(variables: list[SeenVariable]) -> bool:
    for one in variables:
        sizes = inspections.known(one.weights)
        if inspections.is_kernel(one.variable) and len(sizes) > 1:
            return 0 < sizes[-1] < CRUSHED * sizes[0]
    return False


def _verdict(
    case: Case, training: Training, dead: list[_Dead], learned: bool | None
) -> Verdict:
    one = min(dead, key=lambda found: found.since)
    name = one.seen.layer.name
    step = one.seen.steps[one.since]
    # A first look that came late does not tell when it died; its bias may.
    early = step - (training.started.first_step or 0) <= EARLY_STEPS
    from_start = one.since == 0 and (early or _bias(one) is not None)
    epoch = training.epoch_of(step)
    at = Moment(step=step, epoch=None if epoch is None else epoch + 1)
    if from_start:
        at = training.at(training.started)
    units = one.seen.layer.units
    count = f"All {units:,} units" if units else "All units"
    if not one.whole:
        count = f"{min(one.seen.dead[one.since :]):.0%} of the units"
    when = "from the first step" if from_start else f"since step {step:,} or before"
    detail = "died" if one.since else "when_unknown"
    return Verdict(
        id="dead_relu",
        detail="from_start" if from_start else detail,
        severity="critical" if learned is False else "warning",
        confidence="proven"
        if one.whole and one.variables and len(one.seen.steps) - one.since > 1
        else "likely",
        headline=f"{count} of {name} gave out 0 for every input, {when}",
        because=_because(one)
        if one.whole
        else "Every look from then on saw the same, and the loss does not fall.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": name},
        evidence=tuple(_evidence(training, dead, one, at)),
        fixes=_fixes(training, one, from_start),
        chip="Dead ReLU",
        explains=_EXPLAINS,
    )


def _because(one: _Dead) -> str:
    if len(one.seen.steps) - one.since == 1:
        return "The one look there was saw it, with gradients of exactly 0."
    return (
        "Every look from then on saw it, and the gradients of the layer were exactly 0."
    )


def _evidence(
    training: Training, dead: list[_Dead], one: _Dead, at: Moment
) -> list[Evidence]:
    count = len(one.seen.steps) - one.since
    name = one.seen.layer.name
    share = min(one.seen.dead[one.since :])
    text = f"In {looks(count)}, {share:.0%} of its units gave out 0 for all rows."
    found = [Evidence(text=text, at=at)]
    if one.variables and one.whole:
        text = f"The gradients of {name} were exactly 0."
        found.append(Evidence(text=text, at=at))
    bias = _bias(one)
    if bias is not None:
        text = f"Its bias is about {short(bias)} in size; 0 is the default."
        found.append(Evidence(text=text, at=at))
    others = [other.seen.layer.name for other in dead if other is not one]
    if others:
        text = f"The same holds for {names(others)}."
        found.append(Evidence(text=text, strong=False, at=at))
    now = loss_course.late(training)
    if now is not None:
        text = f"The loss stands at {short(now)}."
        found.append(Evidence(text=text, strong=False, lane="loss", at=at))
    return found


def _bias(one: _Dead) -> float | None:
    """The usual size of a number of its bias at the first look, if it is not small."""
    if one.since:
        return None
    for variable in one.variables:
        if variable.variable.name.rsplit("/", 1)[-1] == "bias":
            size = variable.weights[0] / math.sqrt(max(variable.variable.size or 1, 1))
            return size if size > 1 else None
    return None


def _fixes(training: Training, one: _Dead, from_start: bool) -> tuple[Fix, ...]:
    layer = one.seen.layer
    lower, rate = learning_rate.better(training), learning_rate.used(training)
    if from_start:
        return _fixes_at_start(layer)
    if lower is None or rate is None:
        return (_leaky(layer),)
    return (
        Fix(
            title=f"Lower the learning rate from {short(rate)} to {short(lower)}",
            why="A large step can throw all units below 0, and nothing brings them "
            "back. It then learns more slowly.",
            code=learning_rate.line(training, lower),
        ),
        _leaky(layer),
    )


def _fixes_at_start(layer: facts.Layer) -> tuple[Fix, ...]:
    told = [
        f"{key} {value}"
        for key in ("bias_initializer", "kernel_initializer")
        if (value := layer.settings.get(key))
    ]
    return (
        Fix(
            title=f"Start the bias of {layer.name} at 0",
            why="It was dead before the first update, so the initial values made it "
            f"so{f' ({names(told)})' if told else ''}.",
            code='bias_initializer="zeros", kernel_initializer="he_normal"',
        ),
        _leaky(layer),
    )


def _leaky(layer: facts.Layer) -> Fix:
    return Fix(
        title="Or use an activation that passes a gradient below 0",
        why="A unit of LeakyReLU or GELU cannot die: it can always come back.",
        code=_with_leak(layer),
    )


def _with_leak(layer: facts.Layer) -> str:
    if not layer.parameters and layer.kind != "Dense":
        return "keras.layers.LeakyReLU()"
    library = "" if layer.is_custom else "keras.layers."
    rest = ", ..." if layer.kind.startswith("Conv") else ""
    units = layer.units or "units"
    return f'{library}{layer.kind}({units}{rest}, activation="leaky_relu")'


RULE = Rule(id="dead_relu", judge=judge)
