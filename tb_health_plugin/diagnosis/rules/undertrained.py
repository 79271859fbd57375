"""The training ended while it was still getting better.

**What it means.** The last epochs brought as much as any before. More of them would
most likely bring more. This is a hint: short runs may be meant so. It is a warning only
if the model is still about as good as one that ignores its inputs.

**How we know.** The loss fell in every one of the last epochs, and together by a good
part of what the whole run gained. The validation loss, if there is one, fell too.

**What it is mistaken for.** A learning rate that is too low: then nearly nothing was
gained at all.

**What to do.** Train longer, from where it is.
"""

import itertools

from tb_health_plugin.diagnosis import learning_rate
from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.learning import (
    Learning,
    is_long_enough,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict

# Fewer epochs show no trend.
LEAST_EPOCHS = 5
LEAST_STEPS = 60
# Share of all that was gained that came in the last third of the epochs. A loss that
# falls in a straight line gains a third there, one that levels off next to nothing.
LATE_GAIN = Option(
    "late_gain",
    0.2,
    "Part of the whole fall of the loss that came in the last third of the epochs.",
)
# A loss that fell by less than this in all has arrived, or never went.
LEAST_FALL = 0.05


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None or not _went_to_its_end(training):
        return None
    late_gain = case.tuned(LATE_GAIN)
    gain = _late_gain(training, "loss")
    if gain is None or gain < late_gain:
        return None
    unseen = _late_gain(training, "val_loss")
    if "val_loss" in training.metric_names and (unseen is None or unseen < late_gain):
        return None
    losses = finite(training.metric("loss"))
    epochs, last = len(losses), training.epochs[-1]
    late = max(epochs // 3, 2)
    more = (training.started.planned_epochs or epochs) + epochs
    learned = learning_of(training)
    useless = learned.state == "slow" and is_long_enough(training)
    return Verdict(
        id=RULE.id,
        detail="hardly_begun" if useless else "still_improving",
        severity="warning" if useless else "info",
        confidence="likely",
        headline=(
            "Ended hardly better than guessing, and the loss still fell: "
            if useless
            else "Still improving when it ended: loss "
        )
        + f"{losses[-1 - late]:.4g} to {losses[-1]:.4g} in the last {late} epochs",
        chip="Still improving",
        because="The loss fell in each of the last epochs.",
        cause_at=training.at(last, last.epoch),
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"The last {late} of {epochs} epochs brought {gain:.0%} of all "
                "that the loss fell.",
                lane="loss",
                at=training.at(last, last.epoch),
            ),
            *(_level(learned) if useless else ()),
        ),
        fixes=(
            Fix(
                title="Train longer, from where it is",
                why="Costs as many epochs again; stop when validation stops improving.",
                code=f"model.fit(..., initial_epoch={epochs}, epochs={more})",
            ),
            *(_faster(training) if useless else ()),
        ),
    )


def _level(learned: Learning) -> list[Evidence]:
    base, end = learned.baseline, learned.end
    if base is None or base.loss is None or end is None:
        return []
    text = f"The loss is {end:.4g}; {base.words} gives {base.loss:.4g}."
    return [Evidence(text=text, lane="loss")]


def _faster(training: Training) -> list[Fix]:
    rate = training.number("optimizer.learning_rate")
    if not rate:
        return []
    return [
        Fix(
            title=f"Or raise the learning rate from {rate:g} to {3 * rate:g}",
            why="The loss falls without a jump: there is room for larger steps. It may "
            "become restless.",
            code=learning_rate.line(training, 3 * rate),
        )
    ]


def _went_to_its_end(training: Training) -> bool:
    ended, planned = training.ended, training.started.planned_epochs
    if ended is None or ended.reason == "raised" or training.stops:
        return False
    first = training.started.initial_epoch or 0
    return planned is None or len(training.epochs) >= planned - first


def _late_gain(training: Training, name: str) -> float | None:
    """Share of the whole fall that came late; None if it did not fall steadily."""
    values = training.metric(name)
    if len(values) < LEAST_EPOCHS or training.steps < LEAST_STEPS:
        return None
    if len(finite(values)) < len(values):
        return None
    late = values[-1 - max(len(values) // 3, 2) :]
    steady = all(a > b for a, b in itertools.pairwise(late))
    total = values[0] - values[-1]
    if not steady or total < LEAST_FALL * abs(values[0]):
        return None
    return (late[0] - late[-1]) / total


RULE = Rule(id="undertrained", judge=judge, options=(LATE_GAIN,))
