"""Checkpoints were not written, and the training went on as if they were.

What it means
  There is a callback that saves, or the program saves itself, but nothing usable was
  written. That is found out when the run is lost and should be restored.

How we know
  Each save is noted with its outcome, also when the program caught the exception.
  Keras warns when ModelCheckpoint looks for a metric that does not exist. An
  exception that ended the run is told by how it ended.

What it is mistaken for
  save_best_only that saves rarely: it saves when the metric gets better.

What to do
  Read why saving failed; monitor a metric that the logs have.
"""

import re

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Severity,
    Verdict,
)

# A smoke test may be over before the first save is due.
FEWEST_EPOCHS = 3
FEWEST_STEPS = 100

_NO_METRIC = r"Can save best model only with `?([\w/.-]+?)`? available"


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Saves that failed quietly, then callbacks that never saved."""
    if case.story.verdict is not None and case.story.verdict.id == "checkpoint_failure":
        return None
    for training in reversed(case.trainings):
        found = _failed(case, training) or _never(case, training)
        if found is not None:
            return found
    return None


def _failed(case: Case, training: Training) -> Verdict | None:
    bad = [s for s in training.saves if s.ok is False]
    if training.ended is not None and training.ended.reason == "raised":
        # The last one may be what ended the training, and is told as its end.
        bad = bad[:-1]
    if not bad:
        return None
    first = bad[0]
    at = training.at(first)
    usable = [s for s in training.saves if s.ok]
    later = usable and usable[-1].wall_time > bad[-1].wall_time
    severity: Severity = "info" if later else "warning"
    where = f" to {first.path}" if first.path else ""
    often = "once," if len(bad) == 1 else f"{len(bad):,} times, first"
    text = f"{len(bad):,} of {len(training.saves):,} saves raised an exception"
    last = "Nothing was saved at all."
    if usable:
        last = f"The last one that worked was at step {usable[-1].step:,}."
    place: dict[str, str | int] = {}
    if first.callback:
        place["callback"] = first.callback
    if first.path:
        place["path"] = first.path
    return Verdict(
        id="checkpoint_failure",
        detail="raised",
        severity=severity,
        # How the training ended may tell of another reason, such as a full disk.
        confidence="proven" if training.ended and training.ended.reason else "likely",
        headline=f"Saving the model failed {often} at step {first.step:,}",
        because="The call that saves raised; the program went on.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place=place,
        evidence=(
            Evidence(text=f"{text}, the first{where}.", at=at),
            Evidence(text=last, at=at),
        ),
        fixes=(
            Fix(
                title="Look at what saving raised, and let it be seen",
                why="Something catches the exception. Room, rights and the name of "
                "the file are the commonest reasons.",
                code="except OSError as error: logging.exception(error)",
            ),
        ),
        chip="Saving failed",
    )


def _never(case: Case, training: Training) -> Verdict | None:
    callbacks = re.split(r",\s*", training.setting("callbacks") or "")
    if "ModelCheckpoint" not in callbacks or any(
        # One whose outcome is not known may have worked.
        s.ok is not False
        for s in training.saves
    ):
        return None
    if training.ended is None or training.ended.reason != "returned":
        return None
    said = case.said(_NO_METRIC)
    at = training.at(training.started)
    evidence = [
        Evidence(
            text=f"{len(training.epochs):,} epochs with {training.steps:,} steps, and "
            "no save.",
            at=at,
        )
    ]
    metric = re.search(_NO_METRIC, said.message or "") if said else None
    if metric is not None and said is not None:
        text = f"Keras said: {(said.message or '')[:160]}"
        evidence.insert(0, Evidence(text=text, at=training.at(said)))
    elif (
        len(training.epochs) < FEWEST_EPOCHS
        or training.steps < FEWEST_STEPS
        or not any(s.save_seconds is not None for s in training.spent)
    ):
        return None
    return Verdict(
        id="checkpoint_failure",
        detail="monitor" if metric else "never_saved",
        severity="warning",
        confidence="proven" if metric and _took_no_time(training) else "likely",
        headline="ModelCheckpoint never saved anything in this training",
        because=(
            f'It waits for the metric "{metric[1]}", which does not exist.'
            if metric
            else "No save was seen although the callback is there."
        ),
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"callback": "ModelCheckpoint"},
        evidence=tuple(evidence),
        fixes=(_monitor_fix(training),),
        chip="Nothing saved",
    )


def _took_no_time(training: Training) -> bool:
    """Saving was timed, and there was none: not that its record is lost."""
    known = [s.save_seconds for s in training.spent if s.save_seconds is not None]
    return bool(known) and not any(known)


def _monitor_fix(training: Training) -> Fix:
    names = training.metric_names
    shown = ", ".join(names[:6]) or "none"
    best = next((n for n in names if n.startswith("val_")), None) or "loss"
    return Fix(
        title="Monitor a metric that the logs have, and look at save_freq",
        why=f"Metrics of this training: {shown}.",
        code=f'keras.callbacks.ModelCheckpoint("best.keras", monitor="{best}", '
        "save_best_only=True)",
    )


RULE = Rule(id="checkpoint_failure", judge=judge)
