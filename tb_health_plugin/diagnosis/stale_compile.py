"""Variables that became trainable after `compile`: Keras trains those it had then."""

from collections.abc import Sequence

from tb_health_plugin.diagnosis import inspections, learning_rate
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.figures import names, short
from tb_health_plugin.diagnosis.inspections import SeenVariable
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict
from tb_health_plugin.events import facts


def given_up(training: Training, seen: Sequence[facts.Inspected]) -> list[SeenVariable]:
    """Variables that got a gradient in each look and no update, while others got one.

    They change in the same step as others or never, so one look is enough. A step of
    the program's own may leave some out on purpose, and small numbers round to nothing.
    """
    if training.setting("train_step") != "keras" or not seen:
        return []
    given = [
        one
        for one in inspections.variables(training, seen)
        if all(told == 1 for told in one.has_gradient)
        and len(inspections.known(one.updates)) == len(seen)
        and one.variable.dtype in ("float32", "float64")
    ]
    still = [one for one in given if not any(one.updates)]
    return still if len(still) < len(given) else []


def verdict(
    case: Case,
    training: Training,
    behind: Sequence[SeenVariable],
    look: facts.Inspected,
    explains: tuple[str, ...],
) -> Verdict:
    """Says which ones, and that they want another `compile`."""
    layers = list(dict.fromkeys(one.variable.layer or "" for one in behind))
    trainable = sum(one.trainable is not False for one in training.started.variables)
    norms = [norm for one in behind for norm in inspections.known(one.gradients)]
    largest = max(norms, default=0.0)
    return Verdict(
        id="weights_not_updated",
        detail="not_compiled",
        severity="warning",
        confidence="likely",
        headline=f"{len(behind):,} of {trainable:,} trainable variables get gradients "
        f"and no updates ({names(layers)})",
        because="Keras trains the variables that were trainable when it was compiled, "
        "and these seem to have become so later.",
        cause_at=training.at(training.started),
        stopped_at=case.stopped_at,
        place={"variable": behind[0].variable.name, "layer": behind[0].variable.layer},
        evidence=(
            Evidence(
                text=f"At step {look.step:,} the others changed and these did not, "
                f"with gradients of norms up to {short(largest)}.",
                lane="gradient_norm",
                at=training.at(look),
            ),
        ),
        fixes=(
            Fix(
                title="Compile again after you set trainable",
                why="fit() goes on with the list of variables of the last compile(). "
                "The optimizer begins anew.",
                code=f"model.compile({_optimizer(training)}, loss=...)",
            ),
        ),
        chip="Weights unchanged",
        explains=explains,
    )


def _optimizer(training: Training) -> str:
    rate = learning_rate.used(training)
    return "optimizer" if rate is None else learning_rate.line(training, rate)
