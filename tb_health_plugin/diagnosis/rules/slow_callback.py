"""A callback eats the time: the model waits while it works.

What it means
  More than half of the time of the training goes into a callback: saving, plotting,
  logging or evaluating. Steps themselves may be fast.

How we know
  Each call of each callback is timed.

What it is mistaken for
  Slow steps, or slow data: the progress bar shows only that steps come slowly. A
  checkpoint per epoch is no problem, even if epochs are short.

What to do
  Do it less often: once per epoch, or every thousandth step. Move it out of the
  training if it does not need the model of that moment.
"""

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import duration, factor
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.time_use import TimeUse, whole
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.events import facts

# More than all else together.
WARNING_SHARE = Option(
    "warning_share",
    0.5,
    "Share of the time that one callback may take before it is a warning.",
)
# A callback may well take half of a run of a few seconds: setting up, a last save.
LEAST_SECONDS = 2.0
# But not for saving again and again within an epoch, which no run is meant to do.
LEAST_SECONDS_OF_FREQUENT_SAVES = 0.5
FEWEST_STEPS = 20
# Saving per epoch is what one should do. It matters only if epochs are real, not a
# fraction of a second as in an example.
LEAST_SECONDS_PER_RARE_SAVE = 5.0
# They save. If no save of theirs is in the record, it may be once per epoch.
SAVERS = ("ModelCheckpoint", "BackupAndRestore")
# Saves are rare if there are no more than about one per epoch.
RARE_SAVES_PER_EPOCH = 1.5


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Looks for the training in which a callback took longest."""
    found = [
        (training, use, name, seconds)
        for training in case.trainings
        for use in [whole(training)]
        for name, seconds in use.callbacks.items()
    ]
    least = case.tuned(WARNING_SHARE)
    for training, use, name, seconds in sorted(found, key=lambda f: -f[3]):
        if _matters(training, use, name, seconds, least):
            return _verdict(case, training, use, name, seconds)
    return None


def _matters(
    training: Training, use: TimeUse, name: str, seconds: float, least: float
) -> bool:
    # Stretches that a damaged record has lost had other steps, and none of this.
    known = min(1.0, use.steps / training.steps) if training.steps else 1.0
    if use.steps < FEWEST_STEPS or known * use.share(seconds) < least:
        return False
    # What is not known of a save speaks for it: it may be this callback's, and long.
    saves = [s for s in training.saves if s.callback in (name, None, "")]
    saved = sum(s.seconds or 0.0 for s in saves)
    mostly_saving = saved > 0.5 * seconds or any(s.seconds is None for s in saves)
    epochs = max(1, len(training.epochs))
    if not mostly_saving:
        return seconds >= LEAST_SECONDS
    if len(saves) <= RARE_SAVES_PER_EPOCH * epochs + 1:
        return saved / len(saves) >= LEAST_SECONDS_PER_RARE_SAVE
    return seconds >= LEAST_SECONDS_OF_FREQUENT_SAVES


def _verdict(
    case: Case, training: Training, use: TimeUse, name: str, seconds: float
) -> Verdict:
    at = training.at(training.started)
    saves = [s for s in training.saves if s.callback == name]
    steps_apart = max(1, round(use.steps / len(saves))) if saves else None
    evidence = [
        Evidence(
            text=f"{name} took {duration(seconds)} of {duration(use.seconds)}: "
            f"{duration(seconds / use.steps)} for each of {use.steps:,} steps.",
            lane="throughput",
            at=at,
        )
    ]
    if use.stepping:
        each = duration(use.per_step(use.stepping))
        text = f"The step itself took {each}."
        evidence.append(Evidence(text=text, strong=False, at=at))
    if saves:
        text = f"It saved the model {len(saves):,} times, every {_every(steps_apart)}."
        evidence.append(Evidence(text=text, at=at))
    unseen = name in SAVERS and not saves
    because = "Each call of it was timed."
    if unseen:
        because += " How often it saved is not known."
    return Verdict(
        id="slow_callback",
        detail=name,
        severity="warning",
        confidence="proven" if _is_sure(training, name, saves, seconds) else "likely",
        headline=f"The callback {name} took {use.share(seconds):.0%} of the time",
        because=because,
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"callback": name},
        evidence=tuple(evidence),
        fixes=_fixes(name, use, seconds, steps_apart),
        chip="Slow callback",
    )


def _is_sure(
    training: Training, name: str, saves: list[facts.Saved], seconds: float
) -> bool:
    """What it did is known, not only how long it took.

    Once per epoch is how one should save, and a record may have lost saves or epochs.
    """
    if not saves:
        return name not in SAVERS
    saved = sum(s.seconds or 0.0 for s in saves)
    planned = training.started.planned_epochs
    if saved <= 0.5 * seconds or planned is None:
        return False
    is_rare = len(saves) <= RARE_SAVES_PER_EPOCH * planned + 1
    return not is_rare or saved / len(saves) >= LEAST_SECONDS_PER_RARE_SAVE


def _every(steps: int | None) -> str:
    return "step" if steps == 1 else f"{steps:,} steps"


def _fixes(
    name: str, use: TimeUse, seconds: float, steps_apart: int | None
) -> tuple[Fix, ...]:
    gain = 1 / max(1 - use.share(seconds), 0.02)
    faster = f"Without it the training would be about {factor(gain)} times as fast."
    if steps_apart is not None:
        return (
            Fix(
                title="Save once per epoch",
                why=f"It saves every {_every(steps_apart)} now. {faster} More work is "
                "lost if the run dies within an epoch.",
                code='keras.callbacks.ModelCheckpoint("last.keras")',
            ),
        )
    return (
        Fix(
            title=f"Let {name} work less often",
            why=f"{faster} Work in on_epoch_end, or only every so many batches.",
            code="if batch % 100: return",
        ),
    )


RULE = Rule(id="slow_callback", judge=judge, options=(WARNING_SHARE,))
