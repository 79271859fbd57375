"""Penalties or dropout press so hard that nothing can be learned.

**What it means.** A weight penalty (L1, L2), weight decay or dropout keeps a model from
learning by heart. Far too strong, it keeps the model from learning at all: the weights
shrink to nothing, the loss falls because the penalty falls, and every row gets the same
answer.

**How we know.** The run did little better than a model that ignores its inputs, a
penalty or a very high dropout is set, and the weights shrank to a small part of what
they were (or the settings alone leave no doubt). If it did no better at all, the same
is told as `not_learning`, with the detail `over_regularised`.

**What it is mistaken for.** Vanishing gradients, a learning rate that is too low, data
without a pattern. The loss falls, so it may even look healthy.

**What to do.** Take the penalty away once. If the model then learns, bring it back a
thousand times weaker.
"""

import math
import re
from dataclasses import dataclass

from tb_health_plugin.diagnosis import learning_rate
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.heads import head_of, penalties, weighs_rows
from tb_health_plugin.diagnosis.learning import (
    Learning,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.magnitudes import is_unscaled
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Weights that shrank to less than this were crushed; healthy ones grow.
CRUSHED = 0.2
# Kernels begin with weights of 0.01 to 0.5. A hundred times less says nothing.
NOTHING = 1e-3
# Settings that leave no doubt without a look at weights. Usual are 1e-5 to 1e-2.
STRONG_PENALTY = 0.1
# Usual are 0.1 to 0.5; at this only every tenth number gets through.
STRONG_DROPOUT = 0.9
# A useful penalty is a small part of the loss. At this it is nearly all of it.
OUTWEIGHS = 10.0
# Decay per step at the usual learning rates; usual are 1e-5 to 0.1.
STRONG_DECAY = 0.5

_FACTORS = re.compile(r"(?:l1|l2|factor)=([0-9.eE+-]+)")
# Regularizers that draw weights to 0; others shape them.
_SHRINKING = ("L1", "L2", "L1L2")
_EXPLAINS = (
    "not_learning",
    "vanishing_gradients",
    "lr_too_low",
    "dead_relu",
    "undertrained",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """One setting that presses.

    Attributes:
        layer: The layer it is set on; empty for the optimizer.
        words: The setting, for people.
        strength: Its number.
        is_strong: It alone leaves no doubt.
        fix: The same, in a usual strength.
    """

    layer: str
    words: str
    strength: float
    is_strong: bool
    fix: str


def judge(case: Case) -> Verdict | None:
    """Little was learned. Where nothing was, `not_learning` tells of the pressure."""
    training = main_training(case)
    if training is None or learning_of(training).state == "no":
        return None
    return pressed(case, training)


def pressed(case: Case, training: Training) -> Verdict | None:
    """What presses too hard, whether little or nothing was learned."""
    pressures = _pressures(training)
    if not pressures:
        return None
    learned = learning_of(training)
    shrunk = _shrunk(training)
    crushed = shrunk is not None
    strong = [pressure for pressure in pressures if pressure.is_strong]
    nothing = learned.state == "no"
    untold = any(pressure.strength == 0 for pressure in pressures)
    heavy = _outweighs(training, learned) if nothing and untold else None
    if not (nothing and (crushed or heavy)) and not (strong and learned.is_bad):
        return None
    worst = max(strong or pressures, key=lambda pressure: pressure.strength)
    return Verdict(
        id=RULE.id,
        detail="crushed" if crushed else "too_strong",
        severity="warning",
        confidence="likely" if crushed else "possible",
        headline=f"{worst.words} is {'' if crushed else 'probably '}too strong: "
        f"{_how_bad(learned)} was learned",
        chip="Over-regularised",
        because=f"{_how_bad(learned).capitalize()} was learned, and "
        + _sign(crushed, bool(strong)),
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        place={"layer": worst.layer} if worst.layer else {},
        evidence=tuple(_evidence(training, learned, shrunk or heavy, pressures)),
        fixes=(
            Fix(
                title="Weaken it",
                why="This is a usual strength: it leaves room to learn. It may learn "
                "by heart instead; validation shows that.",
                code=worst.fix,
            ),
        ),
        explains=_EXPLAINS,
    )


def _sign(crushed: bool, strong: bool) -> str:
    if crushed:
        return "the weights shrank to nothing."
    if strong:
        return "the setting is far above usual ones. Other reasons were not ruled out."
    return "the penalty was most of the loss."


def _outweighs(training: Training, learned: Learning) -> str | None:
    """That the penalty outweighed the loss by far, as a sentence; None if not.

    A cross-entropy over so many classes is about their logarithm before training.
    What is far above comes from penalties, unless data off scale makes it.
    """
    head = head_of(training)
    if head is None or head.kind not in ("sparse", "categorical"):
        return None
    if not penalties(training) or weighs_rows(training) or not learned.losses:
        return None
    began = learned.start if learned.start is not None else learned.losses[0]
    if (head.units or 0) < 2 or is_unscaled(training):
        return None
    plain = math.log(head.units or 2)
    if not OUTWEIGHS * plain <= began < math.inf:
        return None
    return (
        f"The loss began at {began:.4g}; without penalties, {head.units} "
        f"classes give about {plain:.2g}."
    )


def _how_bad(learned: Learning) -> str:
    return "nothing" if learned.state == "no" else "little"


def _pressures(training: Training) -> list[Pressure]:
    found = []
    for place, text in penalties(training).items():
        layer, _, name = place.rpartition(".")
        kind, _, settings = text.partition("(")
        strength = max((_number(n) for n in _FACTORS.findall(settings)), default=None)
        if kind.upper() in _SHRINKING and strength != 0:
            # Not every regularizer tells its factor.
            of = "" if strength is None else f" of {strength:g}"
            found.append(
                Pressure(
                    layer=layer,
                    words=f"The {kind} penalty{of}",
                    strength=strength or 0.0,
                    is_strong=(strength or 0.0) >= STRONG_PENALTY,
                    fix=f"{name}=keras.regularizers.{kind}(1e-4)",
                )
            )
    for one in training.started.layers:
        rate = _number(one.settings.get("rate", ""))
        if "Dropout" in one.kind and STRONG_DROPOUT <= rate < 1:
            found.append(
                Pressure(
                    layer=one.name,
                    words=f"A {one.kind} of {rate:g}",
                    strength=rate,
                    is_strong=True,
                    fix=f"keras.layers.{one.kind}(0.3)",
                )
            )
    decay = training.number("optimizer.weight_decay") or 0.0
    if decay > 0:
        found.append(
            Pressure(
                layer="",
                words=f"The weight decay of {decay:g}",
                strength=decay,
                is_strong=decay >= STRONG_DECAY,
                fix=learning_rate.line(training, weight_decay="0.004"),
            )
        )
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _shrunk(training: Training) -> str | None:
    """How far the weights shrank, as a sentence; None if they did not."""
    norms = _norms(training)
    if len(norms) > 1 and norms[-1] < CRUSHED * norms[0]:
        return f"The norm of all weights fell from {norms[0]:.3g} to {norms[-1]:.3g}."
    sizes = _kernel_sizes(training)
    if sizes and max(sizes) < NOTHING:
        return f"At the end no kernel had weights above {max(sizes):.1g} on average."
    return None


def _kernel_sizes(training: Training) -> list[float]:
    """The usual size of a weight, per kernel, at the last look."""
    looks = [look for look in training.inspections if look.weight_norms]
    if not looks:
        return []
    pairs = zip(training.started.variables, looks[-1].weight_norms, strict=False)
    return [
        norm / math.sqrt(variable.size)
        for variable, norm in pairs
        if variable.trainable is not False
        and variable.name.endswith("kernel")
        and variable.size is not None
        and variable.size > 0
        and math.isfinite(norm)
    ]


def _norms(training: Training) -> list[float]:
    """Norm of the trained weights at each look."""
    trained = [
        variable.trainable is not False for variable in training.started.variables
    ]
    norms = []
    for look in training.inspections:
        pairs = zip(look.weight_norms, trained, strict=False)
        known = [norm for norm, is_trained in pairs if is_trained]
        known = [norm for norm in known if math.isfinite(norm)]
        if known:
            norms.append(math.hypot(*known))
    return norms


def _evidence(
    training: Training,
    learned: Learning,
    shrunk: str | None,
    pressures: list[Pressure],
) -> list[Evidence]:
    found = []
    if shrunk:
        found.append(Evidence(text=shrunk, at=training.at(training.inspections[-1])))
    base = learned.baseline
    if learned.accuracies and base and base.accuracy is not None:
        text = (
            f"Accuracy ended at {learned.accuracies[-1]:.1%}; always naming the "
            f"largest class reaches {base.accuracy:.1%}."
        )
        found.append(Evidence(text=text))
    if learned.start is not None and learned.end is not None:
        text = f"The loss went from {learned.start:.4g} to {learned.end:.4g}"
        text += "; what fell may be the penalty alone." if penalties(training) else "."
        found.append(Evidence(text=text, strong=False, lane="loss"))
    where: dict[str, list[str]] = {}
    for pressure in pressures:
        where.setdefault(pressure.words, []).append(pressure.layer)
    for words, layers in list(where.items())[:4]:
        on = names([layer for layer in layers if layer])
        text = f"{words} is set on {on}." if on else f"{words} is set."
        found.append(Evidence(text=text, strong=False))
    return found


RULE = Rule(id="over_regularised", judge=judge)
