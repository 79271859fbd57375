"""Epochs and validations that had fewer batches than they were meant to have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Verdict,
)
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

# Without a plan the first epoch is the measure. Data that is filtered, or a length
# that varies, does not lose four fifths from one epoch to the next.
SUDDENLY_SHORT = 0.2
# A first epoch that is shorter than this says little about the next one.
LEAST_FIRST = 10

_RAN_OUT = "ran out of data"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Batches of one epoch, or of its validation."""

    epoch: facts.EpochEnded
    done: int
    planned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shortfall:
    """What was missing in one training."""

    what: str
    counts: Sequence[_Count]
    is_planned: bool

    @property
    def short(self) -> list[_Count]:
        return [one for one in self.counts if one.done < one.planned]

    @property
    def missing(self) -> float:
        planned = sum(one.planned for one in self.counts)
        return 1 - sum(one.done for one in self.counts) / planned if planned else 1.0


def verdict(attempt: Attempt) -> Verdict | None:
    """The training of the attempt that missed most; None if none did."""
    found: list[tuple[facts.TrainingStarted, _Shortfall]] = []
    for begun in attempt.all(facts.TrainingStarted):
        shortfall = _of_training(attempt, begun) or _of_validation(attempt, begun)
        if shortfall is not None:
            found.append((begun, shortfall))
    if not found:
        return None
    begun, worst = max(found, key=lambda one: (one[1].what == "input", one[1].missing))
    return _verdict(attempt, begun, worst)


def said_so(attempt: Attempt) -> facts.ProgramSaid | None:
    """Keras' own warning."""
    for said in attempt.all(facts.ProgramSaid):
        if _RAN_OUT in (said.message or ""):
            return said
    return None


def _of_training(attempt: Attempt, begun: facts.TrainingStarted) -> _Shortfall | None:
    epochs = _whole_epochs(attempt, begun)
    if begun.loop == "loop" or not epochs:
        return None
    counts = _counts(epochs, lambda e: e.planned_steps, _steps)
    is_planned = any(epoch.planned_steps for epoch in epochs)
    found = _Shortfall(what="input", counts=counts, is_planned=is_planned)
    if not found.short:
        return None
    if not is_planned:
        return found
    is_own_length = begun.settings.get("data.kind") == "PyDataset" and not _given(
        begun, "steps_per_epoch"
    )
    if is_own_length:
        # Its length may change from epoch to epoch; the plan is only that of the first.
        # Keras warns then, too, but it asked once and the program has the last word.
        return None
    warned = said_so(attempt) is not None
    only_last = [one.epoch for one in found.short] == list(epochs[-1:])
    if only_last and len(epochs) > 1 and not warned:
        return found if _ran_all_epochs(attempt, begun) else None
    return found


def _of_validation(attempt: Attempt, begun: facts.TrainingStarted) -> _Shortfall | None:
    epochs = [
        epoch for epoch in _epochs(attempt, begun) if epoch.validation_steps is not None
    ]
    is_planned = any(epoch.planned_validation_steps for epoch in epochs)
    counts = _counts(
        epochs, lambda e: e.planned_validation_steps, lambda e: e.validation_steps
    )
    found = _Shortfall(what="validation", counts=counts, is_planned=is_planned)
    return found if found.short else None


def _counts(
    epochs: Sequence[facts.EpochEnded],
    planned: Callable[[facts.EpochEnded], int | None],
    done: Callable[[facts.EpochEnded], int | None],
) -> list[_Count]:
    """Those that can be judged. Without a plan, against the first."""
    # Data that says it has nothing plans nothing.
    known = [(epoch, planned(epoch) or None, done(epoch)) for epoch in epochs]
    if any(plan is not None for _, plan, _ in known):
        return [
            _Count(epoch=epoch, done=count, planned=plan)
            for epoch, plan, count in known
            if plan is not None and count is not None
        ]
    counted = [(epoch, count) for epoch, _, count in known if count is not None]
    if not counted:
        return []
    first = counted[0][1]
    if first == 0:
        return [_Count(epoch=epoch, done=count, planned=1) for epoch, count in counted]
    if first < LEAST_FIRST:
        return []
    return [
        # What is only a little shorter is as planned: nobody planned it.
        _Count(
            epoch=epoch,
            done=count,
            planned=first if count <= SUDDENLY_SHORT * first else count,
        )
        for epoch, count in counted
    ]


def _epochs(attempt: Attempt, begun: facts.TrainingStarted) -> list[facts.EpochEnded]:
    # A loop writes its only epoch again and again: the last counts.
    return list(
        {
            epoch.epoch: epoch
            for epoch in attempt.all(facts.EpochEnded)
            if epoch.training == begun.training
        }.values()
    )


def _whole_epochs(
    attempt: Attempt, begun: facts.TrainingStarted
) -> list[facts.EpochEnded]:
    """Without those that somebody had asked to end early."""
    stops = [
        stop.epoch
        for stop in attempt.all(facts.StopRequested)
        if stop.training == begun.training and stop.epoch is not None
    ]
    first_stopped = min(stops, default=None)
    return [
        epoch
        for epoch in _epochs(attempt, begun)
        if first_stopped is None or (epoch.epoch or 0) < first_stopped
    ]


def _steps(epoch: facts.EpochEnded) -> int | None:
    if epoch.first_step is None or epoch.last_step is None:
        return None
    return epoch.last_step - epoch.first_step


def _given(begun: facts.TrainingStarted, name: str) -> bool:
    return begun.settings.get(name, "None") != "None"


def _ran_all_epochs(attempt: Attempt, begun: facts.TrainingStarted) -> bool:
    """It returned after all its epochs, and nobody had asked it to stop.

    Records that do not say how a training ended do not say who stopped it either.
    """
    ended = [
        one
        for one in attempt.all(facts.TrainingEnded)
        if one.training == begun.training
    ]
    if not ended or ended[-1].reason != "returned":
        return False
    planned = (begun.planned_epochs or 0) - (begun.initial_epoch or 0)
    stops = attempt.all(facts.StopRequested)
    is_stopped = any(stop.training == begun.training for stop in stops)
    return not is_stopped and (ended[-1].epochs_done or 0) >= planned


def _verdict(
    attempt: Attempt, begun: facts.TrainingStarted, shortfall: _Shortfall
) -> Verdict:
    short, counts = shortfall.short, shortfall.counts
    first = short[0]
    number = (first.epoch.epoch or 0) + 1
    at = Moment(
        step=first.epoch.last_step, epoch=number, wall_time=first.epoch.wall_time
    )
    done, planned = sum(one.done for one in counts), sum(one.planned for one in counts)
    is_empty = done == 0
    unit = "batches" if shortfall.what == "validation" else "steps"
    planned_words = "planned " if shortfall.is_planned else ""
    of = f" of {first.planned:,}" if shortfall.is_planned or not is_empty else ""
    subject = "Epoch" if shortfall.what == "input" else "The validation of epoch"
    evidence = [
        Evidence(
            text=f"{subject} {number:,} had {first.done:,}{of} {planned_words}{unit}.",
            at=at,
        ),
        Evidence(
            text=f"{len(short):,} of {len(counts):,} "
            + ("epochs" if shortfall.what == "input" else "validations")
            + " were short.",
            strong=False,
            at=at,
        ),
    ]
    warned = said_so(attempt)
    if warned is not None:
        text = "Keras warned that the input ran out of data."
        evidence.append(
            Evidence(text=text, at=Moment(step=warned.step, wall_time=warned.wall_time))
        )
    sure: Confidence = "proven" if warned and shortfall.is_planned else "likely"
    return Verdict(
        id="data_exhausted",
        detail=f"{done} of {planned} {unit}"
        if shortfall.is_planned or not is_empty
        else f"0 {unit}",
        severity="warning",
        confidence=sure,
        headline=_headline(shortfall, done, planned, is_empty),
        because="Keras ends an epoch without an error when its data ends.",
        cause_at=at,
        stopped_at=stopped_at(attempt),
        evidence=tuple(evidence),
        fixes=_fixes(begun, shortfall, first),
        chip="Ran out of data",
        explains=("undertrained", "not_learning"),
    )


def _headline(shortfall: _Shortfall, done: int, planned: int, is_empty: bool) -> str:
    if shortfall.what == "validation":
        if is_empty:
            return "Validation had no data: not one batch was validated on"
        return f"Validation ran out of data: {done:,} of {planned:,} batches were run"
    if is_empty:
        return "The input was empty: not one step was run"
    if shortfall.is_planned:
        return f"The input ran out: {done:,} of {planned:,} planned steps were run"
    return (
        f"The input ran out: {len(shortfall.short):,} of {len(shortfall.counts):,} "
        "epochs were far shorter than the first"
    )


# Data that is empty stays empty: to repeat it is to look for a first row for ever.
EMPTY = Fix(
    title="Find out where the rows get lost",
    why="There was not one batch. A path without files, a filter() that lets nothing "
    "pass, skip() beyond the end and drop_remainder with few rows do that.",
    code="print(sum(1 for _ in dataset.take(3)))",
)
_ENDLESS_GENERATOR = Fix(
    title="Let the generator begin again when it ends",
    why="A Python generator that has ended stays empty for all later epochs.",
    code="while True:\n    for batch in batches:\n        yield batch",
)


def _fixes(
    begun: facts.TrainingStarted, shortfall: _Shortfall, first: _Count
) -> tuple[Fix, ...]:
    has = max(one.done for one in shortfall.counts)
    if not has:
        return (EMPTY,)
    if shortfall.what == "validation":
        if begun.settings.get("validation.kind") == "generator":
            return (_ENDLESS_GENERATOR,)
        return (
            Fix(
                title="Plan as many validation batches as there are",
                why=f"{first.done:,} of {first.planned:,} were there. Without "
                "validation_steps all are taken, each time from the start.",
                code="validation_steps=None",
            ),
        )
    if begun.settings.get("data.kind") == "generator":
        return (_ENDLESS_GENERATOR,)
    again = Fix(
        title="Let the data begin again, or plan as many steps as it has",
        why=f"An epoch was planned with {first.planned:,} steps."
        if shortfall.is_planned
        else f"The longest epoch had {has:,} steps.",
        code="dataset = dataset.repeat()",
    )
    if not shortfall.is_planned or not has:
        return (again,)
    fewer = Fix(
        title=f"Or take each epoch as long as the data: {has:,} steps",
        why="Without steps_per_epoch an epoch is one pass over the data. The run has "
        "fewer steps then, unless it gets more epochs.",
        code="steps_per_epoch=None",
    )
    return (again, fewer)
