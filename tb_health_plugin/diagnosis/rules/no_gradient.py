"""Variables that should train get no gradient at all from this loss.

**What it means.** Between these variables and the loss something cuts the way: a cast
to whole numbers, argmax, round, numpy, stop_gradient, a branch that is not used, or a
loss that does not look at that output. They stay as they began, without any error.

**How we know.** Their gradient was not there (None, not 0) at every look, and no step
ever changed them. Layers with trainable = False are frozen on purpose and never named.

**What it is mistaken for.** Vanishing gradients. Those are there, only small.

**What to do.** Follow the way from the named layer to the loss and take out what has no
derivative. If the part is meant to be unused, as a head of a pretrained model, set
trainable = False on it: then it is clear to all.
"""

import re

from tb_health_plugin.diagnosis import inspections, loss_course
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import looks, names
from tb_health_plugin.diagnosis.inspections import SeenVariable
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Severity,
    Verdict,
)
from tb_health_plugin.events import facts

# Parts of pretrained models that are not used (the pooler of a BERT) hold less of it.
MENTIONED_SHARE = 0.05
# With this much cut off, hardly anything is left that learns.
MOST_SHARE = 0.5


_WARNING = r"gradients do not exist for variables"


def judge(case: Case) -> Outcome:
    training = main_training(case)
    if training is None or not training.steps:
        return None
    said = case.said(_WARNING)
    seen = inspections.looks(training)
    if not seen:
        if said is not None:
            return _as_said(case, training, said)
        return inspections.gradients_not_measured(case)
    every = inspections.variables(training, seen)
    # Only the step of Keras itself surely trains with the gradients that were seen.
    plain = training.setting("train_step") == "keras" or said is not None
    cut = [one for one in every if _is_cut(one, plain)]
    if not cut:
        return None
    if len(cut) == len(every):
        # Not one gradient: then the training does not go by gradients that we see.
        return None if said is None else _verdict(case, training, every, cut, said)
    return _verdict(case, training, every, cut, said)


def _is_cut(one: SeenVariable, plain: bool) -> bool:
    told = inspections.known(one.has_gradient)
    if not plain and not inspections.known(one.has_gradient[:1]):
        # It was not given to the optimizer at all, maybe on purpose.
        return False
    rests = bool(inspections.known(one.updates)) or len(one.weights) > 1
    return bool(told) and not any(told) and not one.moved and (plain or rests)


def _as_said(case: Case, training: Training, said: facts.ProgramSaid) -> Verdict | None:
    """Only the warning of Keras is known: the names are in it."""
    listed = re.findall(r"'([^']+)'", (said.message or "").split("when minim")[0])
    every = inspections.variables(training, ())
    cut = [one for one in every if one.variable.name in listed]
    if not cut:
        return None
    return _verdict(case, training, every, cut, said)


def _verdict(
    case: Case,
    training: Training,
    every: list[SeenVariable],
    cut: list[SeenVariable],
    said: facts.ProgramSaid | None,
) -> Verdict:
    total = sum(one.variable.size or 0 for one in every)
    share = sum(one.variable.size or 0 for one in cut) / max(total, 1)
    learned = loss_course.has_learned(training)
    layers = list(dict.fromkeys(one.variable.layer or one.variable.name for one in cut))
    at = Moment(step=training.started.first_step or 0, epoch=1)
    some = "variable" if len(every) == 1 else "variables"
    evidence = [
        Evidence(
            text=f"{names([one.variable.name for one in cut], 4)} had no gradient at "
            f"any of {looks(len(cut[0].steps))} and never changed.",
            at=at,
        )
        if cut[0].steps
        else Evidence(text="No step was looked at closely.", strong=False, at=at)
    ]
    if said is not None:
        text = f"Keras warned: {_first_sentence(said.message or '')}"
        moment = Moment(step=said.step, wall_time=said.wall_time)
        evidence.append(Evidence(text=text, at=moment))
    text = f"They hold {share:.0%} of the parameters that should train."
    evidence.append(Evidence(text=text, strong=False, at=at))
    # A step of the program's own may give them one at other times than were looked at.
    is_sure = bool(cut[0].steps) and training.setting("train_step") == "keras"
    confidence: Confidence = "proven" if is_sure else "likely"
    return Verdict(
        id="no_gradient",
        detail="all" if len(cut) == len(every) else "some",
        severity=_severity(share, learned),
        confidence=confidence,
        headline=f"{len(cut):,} of {len(every):,} {some} never received a gradient "
        f"({names(layers, 2)})",
        because="The loss gives them none: not a small one, none at all."
        if cut[0].steps
        else "Keras said so when it applied the first gradients.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": layers[0], "variable": cut[0].variable.name},
        evidence=tuple(evidence),
        fixes=_fixes(training, layers, cut),
        chip="No gradient",
        explains=(
            "weights_not_updated",
            "vanishing_gradients",
            "dead_relu",
            "not_learning",
            "lr_too_low",
        ),
    )


def _severity(share: float, learned: bool | None) -> Severity:
    if learned is False and share >= MOST_SHARE:
        return "critical"
    if learned is False or share >= MENTIONED_SHARE:
        return "warning"
    return "info"


def _fixes(
    training: Training, layers: list[str], cut: list[SeenVariable]
) -> tuple[Fix, ...]:
    after = _next_layer(training, layers)
    where = f" at {after}" if after else ""
    return (
        Fix(
            title=f"Find what cuts the way from {layers[-1]} to the loss{where}",
            why="A cast to int, round, argmax, numpy() and stop_gradient have no "
            "gradient. To round in training, let the gradient pass beside it.",
            code="y = x + ops.stop_gradient(ops.round(x) - x)",
        ),
        Fix(
            title="If they are not meant to train, say so",
            why="Then Keras stops warning, and nobody wonders.",
            code=f'model.get_layer("{layers[0].split("/")[0]}").trainable = False',
        ),
    )


def _next_layer(training: Training, layers: list[str]) -> str | None:
    """The first layer behind the last one that was cut off."""
    order = [layer.name for layer in training.started.layers]
    places = [order.index(name) for name in layers if name in order]
    if not places or max(places) + 1 >= len(order):
        return None
    return order[max(places) + 1]


def _first_sentence(text: str) -> str:
    return text.strip().split(". ")[0].split("\n")[0][:200].rstrip(".") + "."


RULE = Rule(id="no_gradient", judge=judge)
