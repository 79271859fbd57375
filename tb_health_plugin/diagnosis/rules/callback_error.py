"""A callback raised, or cannot do its job.

**What it means.** Either an exception left a callback and ended the training, or a
callback watches a metric that does not exist: then early stopping never stops, the
learning rate is never lowered, or no best model is ever saved.

**How we know.** Which callback `fit` was running is recorded when an exception comes.
Keras warns, once per epoch, about a metric that is not there; here it counts only if no
epoch of the training had that metric.

**What it is mistaken for.** An error in the model or the data; overfitting ("why did
early stopping not stop?").

**What to do.** Mend the line that is named, or watch a metric that the logs have.
"""

import difflib
import re

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.events import facts

_METRIC = r"[`']?(?P<metric>[\w/-]+)[`']?"
# As Keras 2 and 3 word it, and what does not happen therefore.
_MISSING = (
    (
        rf"Early stopping conditioned on metric {_METRIC} which is not",
        "EarlyStopping",
        "never stops",
    ),
    (
        r"(?:Learning rate reduction|Reduce LR on plateau) (?:is )?conditioned on "
        rf"metric {_METRIC} which is not",
        "ReduceLROnPlateau",
        "never lowers the learning rate",
    ),
    (
        r"Can save best model only with (?P<metric>[\w/-]+) available",
        "ModelCheckpoint",
        "never saves a model",
    ),
)
# With validation every few epochs, the first ones do not have its metrics.
_LEAST_EPOCHS = 2


def judge(case: Case) -> Verdict | None:
    told = case.story.verdict
    if told is not None and told.id == "callback_error":
        # The end itself is told with all that is known of it.
        return None
    for said in case.attempt.all(facts.ProgramSaid):
        for pattern, callback, effect in _MISSING:
            found = re.search(pattern, said.message or "", re.IGNORECASE)
            if found and _is_never_there(case, found["metric"]):
                return _verdict(case, said, callback, found["metric"], effect)
    return None


def _is_never_there(case: Case, metric: str) -> bool:
    epochs = case.attempt.all(facts.EpochEnded)
    if not epochs or (len(epochs) < _LEAST_EPOCHS and not case.is_over):
        return False
    for training in case.trainings:
        every = training.number("validation_freq")
        if every and every > 1 and metric.startswith("val_"):
            return False
    return all(metric not in epoch.metrics for epoch in epochs)


def _verdict(
    case: Case, said: facts.ProgramSaid, callback: str, metric: str, effect: str
) -> Verdict:
    there = sorted(
        {name for e in case.attempt.all(facts.EpochEnded) for name in e.metrics}
    )
    at = Moment(step=said.step, wall_time=said.wall_time)
    return Verdict(
        id="callback_error",
        detail="metric_missing",
        severity="warning",
        confidence="proven",
        headline=f"{callback} {effect}: there is no metric {metric}",
        because="Keras warned about it, and no epoch had that metric.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"callback": callback, "metric": metric},
        evidence=(
            Evidence(text=f"Keras said: {(said.message or '').strip()[:200]}", at=at),
            Evidence(text=f"The logs have {names(there, 6) or 'no metric'}.", at=at),
        ),
        fixes=(_fix(metric, there),),
        chip="Metric missing",
    )


def _fix(metric: str, there: list[str]) -> Fix:
    if metric.startswith("val_") and not any(n.startswith("val_") for n in there):
        return Fix(
            title="Give fit() validation data",
            why=f"{metric} comes from validation, and there is none.",
            code="validation_split=0.2",
        )
    # "validation_loss" is meant as "val_loss", "acc" as "accuracy".
    meant = metric.replace("validation", "val")
    alike = difflib.get_close_matches(meant, there, n=1, cutoff=0.0)
    return Fix(
        title="Watch a metric that the logs have",
        why=f"They have {names(there, 6)}.",
        code=f'monitor="{alike[0]}"' if alike else None,
    )


RULE = Rule(id="callback_error", judge=judge)
