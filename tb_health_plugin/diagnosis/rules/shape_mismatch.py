"""Targets and outputs have different shapes, and were stretched to fit without a word.

**What it means.** Losses that compare number by number (mean squared or absolute error
and their kin) accept any two shapes that can be broadcast. A target of one number
beside an output of ten compares that number with all ten; a target of shape `(rows,)`
beside an output of shape `(rows, 1)` compares every row with every other row. Nothing
is raised. The model then learns to predict one mean for all.

**How we know.** The last axis of the targets and the units of the last layer are exact
numbers. Of a `tf.function` in a hand-written loop that is watched the comparison
itself is seen while it is traced. In other steps of the program's own it is not; there
the shapes must invite it and the outputs must have become the same for every row.

**What it is mistaken for.** A model that is too small, a learning rate that is too low,
data without any pattern.

**What to do.** Give targets and outputs the same shape before the loss sees them.
"""

from tb_health_plugin.diagnosis.batches import Tensor, target_of
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import (
    REGRESSIONS,
    Head,
    has_plain_step,
    head_of,
)
from tb_health_plugin.diagnosis.learning import (
    LEAST_EPOCHS,
    is_long_enough,
    losses_of,
)
from tb_health_plugin.diagnosis.outputs import output_stds
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict

# Losses of a broadcast comparison settle at the variance of the target, as far as that
# is known from some batches.
NEAR_VARIANCE = 0.2
# Outputs that spread this little beside the targets. Honest predictions of very noisy
# targets (1 % explained) spread by a tenth.
ALIKE = 0.08
# A fall by less than this after the first epoch is none.
STUCK = 0.02

# Layers after which a sequence still has its steps.
_KEEPS_STEPS = (
    "Dense",
    "Dropout",
    "SpatialDropout1D",
    "Activation",
    "ReLU",
    "LeakyReLU",
    "BatchNormalization",
    "LayerNormalization",
    "TimeDistributed",
)

_ONE_SHAPE = Fix(
    title="Bring both to one shape before the loss",
    why="The difference of (rows,) and (rows, 1) is (rows, rows).",
    code="loss = loss_fn(y[:, None], model(x, training=True))",
)

_EXPLAINS = ("not_learning", "wrong_output_loss", "undertrained", "lr_too_low")


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        seen = _seen(case, training)
        if seen is not None:
            return seen
        head, target = head_of(training), target_of(training)
        if head is None or target is None or head.units is None:
            continue
        found = (
            _widths(case, training, head, target)
            or _steps(case, training, head, target)
            or _rows(case, training, head, target)
        )
        if found:
            return found
    return None


def _seen(case: Case, training: Training) -> Verdict | None:
    """The comparison itself was seen, in the graph of a step of the program's own."""
    stretched = training.setting("loss.stretched")
    if not stretched:
        return None
    outputs, _, targets = stretched.partition(" and ")
    at = Moment(
        step=training.started.first_step or 0, wall_time=training.started.wall_time
    )
    return _verdict(
        case,
        headline=f"Outputs {outputs} and targets {targets} are compared row by row "
        "with all",
        because="The loss of this step has an operation that takes one from the other; "
        "one of the two comes from the model, the other does not.",
        confidence_is_proven=True,
        evidence=(
            Evidence(
                text=f"The difference of the shapes {outputs} and {targets} has every "
                "row beside every other.",
                at=at,
            ),
        ),
        fixes=(_ONE_SHAPE,),
        at=at,
        layer="",
    )


def _widths(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """One number is compared with many, by a loss of Keras."""
    units, width = head.units, target.width
    if head.kind not in REGRESSIONS or not head.is_certain or head.layer.is_custom:
        return None
    # Of other shapes it is not known which axis is which.
    if units is None or width is None or len(target.shape) != 2:
        return None
    if units == width or 1 not in (units, width):
        return None
    if head.activation == "softmax" and width == 1 and target.whole_numbers:
        # Class numbers beside a softmax: the loss is wrong, wrong_output_loss says so.
        return None
    text = (
        f"Targets have {width} {_numbers(width)} per row, the last layer "
        f"({head.layer.name}) gives out {units}; {head.loss_name} stretched one to "
        "the other."
    )
    at = training.at(training.batches[0])
    if width == 1:
        fix = Fix(
            title="Give the last layer one unit",
            why=f"Each row has one target; now all {units} outputs chase the same one.",
            code="keras.layers.Dense(1)",
        )
    else:
        fix = Fix(
            title=f"Give the last layer {width} units",
            why=f"Each row has {width} targets; one output can only be their mean.",
            code=f"keras.layers.Dense({width})",
        )
    return _verdict(
        case,
        headline=f"Targets have {width} {_numbers(width)} per row, outputs {units}: "
        "they were broadcast",
        because="The widths of targets and outputs are exact numbers and differ.",
        confidence_is_proven=True,
        evidence=(Evidence(text=text, at=at),),
        fixes=(fix,),
        at=at,
        layer=head.layer.name,
    )


def _steps(
    case: Case, training: Training, head: Head, target: Tensor
) -> Verdict | None:
    """Every step of a sequence was compared with the only target of its row."""
    if head.kind not in REGRESSIONS or training.setting("model") != "Sequential":
        return None
    if head.units != 1 or target.width != 1 or len(target.shape) > 2:
        return None
    recurrent = None
    for layer in training.started.layers:
        if "return_sequences" in layer.settings:
            recurrent = layer
        elif layer.kind not in _KEEPS_STEPS:
            recurrent = None
    if recurrent is None or recurrent.settings["return_sequences"] != "True":
        return None
    at = training.at(training.batches[0])
    return _verdict(
        case,
        headline="Every step of a sequence has an output, but a row has one target",
        because="It follows from the layers; some train every step on purpose.",
        confidence_is_proven=False,
        evidence=(
            Evidence(
                text=f"{recurrent.name} has return_sequences=True and no layer after "
                f"it drops the steps; targets have the shape {target.shape}, so "
                f"{head.loss_name} compares each step with the same number.",
                at=at,
            ),
        ),
        fixes=(
            Fix(
                title="Give out the last step only",
                why="Then there is one output per row, as there is one target.",
                code=f"keras.layers.{recurrent.kind}(..., return_sequences=False)",
            ),
        ),
        at=at,
        layer=recurrent.name,
    )


def _rows(case: Case, training: Training, head: Head, target: Tensor) -> Verdict | None:
    """Every row was compared with every other, by a step of the program's own."""
    if has_plain_step(training) and training.started.loop == "fit":
        # Keras brings `(rows,)` and `(rows, 1)` together before its losses.
        return None
    if len(target.shape) != 1 or head.units != 1 or target.std <= 0:
        return None
    losses = finite(losses_of(training))
    if not is_long_enough(training) or not losses:
        return None
    if abs(losses[-1] / (target.std * target.std) - 1) > NEAR_VARIANCE:
        return None
    stds = output_stds(training, head)
    alike = bool(stds) and max(stds[-2:]) < ALIKE * target.std
    stuck = len(losses) >= LEAST_EPOCHS and losses[1] - losses[-1] < STUCK * losses[1]
    # Outputs may have been looked at only early, before they had settled.
    if not alike and not (stuck and _looked_early(training)):
        return None
    at = training.at(training.batches[0])
    return _verdict(
        case,
        headline=f"Targets ({target.shape[0]},) and outputs ({target.shape[0]}, 1) "
        "are compared row by row with all",
        because="The shapes invite it and the loss is that of one mean for all rows; "
        "the comparison itself is code of the program that is not looked into.",
        confidence_is_proven=False,
        evidence=(
            Evidence(
                text=f"Targets have the shape ({target.shape[0]},); the last layer "
                f"({head.layer.name}) gives out ({target.shape[0]}, 1).",
                at=at,
            ),
            Evidence(
                text=f"The loss ended at {losses[-1]:.4g}; the variance of the targets "
                f"is {target.std * target.std:.4g}, which one mean for all rows "
                "reaches.",
                lane="loss",
            ),
            *_spread(stds, target),
        ),
        fixes=(_ONE_SHAPE,),
        at=at,
        layer=head.layer.name,
    )


def _looked_early(training: Training) -> bool:
    steps = [look.step for look in training.inspections if look.output_stds]
    first = training.started.first_step or 0
    return max(steps, default=first) - first < training.steps / 2


def _spread(stds: list[float], target: Tensor) -> list[Evidence]:
    if not stds:
        return []
    text = (
        f"Outputs spread by {stds[-1]:.3g} when last seen, targets by {target.std:.3g}."
    )
    return [Evidence(text=text, strong=False)]


def _numbers(count: int) -> str:
    return "number" if count == 1 else "numbers"


def _verdict(
    case: Case,
    *,
    headline: str,
    because: str,
    confidence_is_proven: bool,
    evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
    at: Moment,
    layer: str,
) -> Verdict:
    return Verdict(
        id=RULE.id,
        detail="broadcast",
        severity="warning",
        confidence="proven" if confidence_is_proven else "possible",
        headline=headline,
        chip="Shapes differ",
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"layer": layer, "field": "y"} if layer else {"field": "y"},
        evidence=evidence,
        fixes=fixes,
        explains=_EXPLAINS,
    )


RULE = Rule(id="shape_mismatch", judge=judge)
