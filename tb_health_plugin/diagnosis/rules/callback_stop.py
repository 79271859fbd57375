"""A callback stopped a training that should have gone on.

**What it means.** `stop_training` was set while the training was still getting better,
because the callback looked at the wrong thing: it took better for worse (`mode`), it
waited for a value that cannot be reached (`baseline`), it counted real progress for
none (`min_delta`, a metric that never moves), it gave up at the first small setback
(`patience`), or it still remembered the training before.

**How we know.** The callback's own settings are compared with the metric it watched.
A stop counts only if that metric, by its name or by the loss beside it, was still
getting better. Early stopping that stops a metric that no longer improves is as its
author wanted, and so is a callback of your own that reached its goal: neither is found
here.

**What it is mistaken for.** Too few epochs, overfitting, a crash.

**What to do.** Correct the setting that is named, and train on from where it stopped.
"""

from tb_health_plugin.diagnosis import stops
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.stopping.measure import (
    never_moves,
    too_strict,
    unreachable,
    wrong_way,
)
from tb_health_plugin.diagnosis.stopping.patience import (
    counts_batches,
    impatient,
    kept_old_best,
    stale,
    stopped_by_batches,
)
from tb_health_plugin.diagnosis.stopping.watched import Watched
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, Verdict
from tb_health_plugin.events import facts

LONGEST_HEADLINE = 100

_SETTINGS = "Its settings and the metric that it watched do not belong together."
_BECAUSE = {
    "counts_batches": "From batch to batch a loss varies more than it falls.",
    "best_not_kept": "What it kept as the best value was not the best one.",
    "stale_state": "It stopped a training at once for what it had seen in another.",
}

# These stop a run for what it was told to stop for.
_WANTED = ("TerminateOnNaN", *stops.OURS)


def judge(case: Case) -> Verdict | None:
    for training in reversed(case.trainings):
        for stop in reversed(training.stops):
            if not _cost_epochs(training) or stop.callback in _WANTED:
                continue
            found = _judge(case, training, stop)
            if found is not None:
                return found
    return None


def _cost_epochs(training: Training) -> bool:
    planned = training.started.planned_epochs
    done = training.ended.epochs_done if training.ended else None
    if planned is None or done is None:
        return False
    return done < planned - (training.started.initial_epoch or 0)


def _judge(case: Case, training: Training, stop: facts.StopRequested) -> Verdict | None:
    if stop.monitor:
        watched = Watched(training, stop)
        found = (
            wrong_way(watched)
            or unreachable(watched)
            or too_strict(watched)
            or never_moves(watched)
            or impatient(watched)
            or counts_batches(watched)
        )
    else:
        found = (
            stale(case, training, stop)
            or kept_old_best(training, stop)
            or stopped_by_batches(training, stop)
        )
    return _verdict(case, training, stop, *found) if found else None


def _verdict(
    case: Case,
    training: Training,
    stop: facts.StopRequested,
    detail: str,
    confidence: Confidence,
    reason: str,
    seen: str,
    fix: Fix,
) -> Verdict:
    at = training.at(stop, stop.epoch)
    planned = training.started.planned_epochs or 0
    planned -= training.started.initial_epoch or 0
    done = len(training.epochs)
    who = stop.callback or stops.who(stop)
    stopped = f"stopped after {done:,} of {planned:,} epochs"
    headline = f"{who} {reason}, and {stopped}"
    if len(headline) > LONGEST_HEADLINE:
        headline = f"{who} {stopped} by mistake"
    known = {
        "callback": stop.callback,
        "metric": stop.monitor,
        "file": stop.file,
        "line": stop.line,
    }
    return Verdict(
        id="callback_stop",
        detail=detail,
        severity="warning",
        confidence=confidence,
        headline=headline,
        because=_BECAUSE.get(detail, _SETTINGS),
        cause_at=at,
        stopped_at=case.stopped_at,
        place={name: value for name, value in known.items() if value is not None},
        evidence=(
            Evidence(text=seen, lane="loss", at=at),
            Evidence(
                text=f"{stops.who(stop)} set stop_training in epoch "
                f"{(stop.epoch or 0) + 1:,}.",
                strong=False,
                at=at,
            ),
        ),
        fixes=(fix,),
        chip="Stopped by mistake",
        explains=("undertrained",),
    )


RULE = Rule(id="callback_stop", judge=judge)
