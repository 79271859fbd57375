"""An epoch or a validation that cannot end, because its data never does."""

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix, State
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, measured

_VALIDATING = ("validation", "validation_starting")
# Callbacks of Keras that never stop a training. Any other may be what ends it.
_NEVER_STOP = frozenset(
    {
        "ModelCheckpoint",
        "BackupAndRestore",
        "TensorBoard",
        "CSVLogger",
        "ReduceLROnPlateau",
        "LearningRateScheduler",
        "TerminateOnNaN",
        "ProgbarLogger",
        "History",
        "SwapEMAWeights",
        "RemoteMonitor",
        # It counts epochs, and here none ends.
        "EarlyStopping",
    }
)
# A validation without a plan that goes on for so many times the epoch before it, and
# for so long, does not look as if it would end.
_TIMES_EPOCH = 10.0
# Generators for training are written to never end; one for validation mostly is, too.
_TIMES_EPOCH_GENERATOR = 7.0
_LEAST_SECONDS = 10.0


def ending(attempt: Attempt, how: str | None, state: State) -> Ending | None:
    """The epoch that had no end; None if it may have had one.

    Args:
        attempt: The record, of a training that is under way or was to its end.
        how: What ended it, as in "was killed"; None if it goes on.
        state: The state for that.
    """
    begun = attempt.last(facts.TrainingStarted)
    if begun is None or begun.loop == "loop":
        return None
    if _is_validating(attempt):
        return _validation(attempt, begun, how, state)
    return _epoch(attempt, begun, how, state)


def _validation(
    attempt: Attempt, begun: facts.TrainingStarted, how: str | None, state: State
) -> Ending | None:
    if _is_given(begun, "validation_steps") or begun.planned_validation_steps:
        return None
    if begun.settings.get("validation.infinite") == "True":
        text = f"{_never_ends(begun, 'validation')}, and validation_steps is not set."
        return _told(attempt, begun, "validation", how, state, text, "proven")
    if how is None or _has_validated(attempt, begun):
        return None
    if "validation.batches" in begun.settings:
        return None
    ratio = _times_epoch(attempt, begun)
    is_generator = begun.settings.get("validation.kind") == "generator"
    least = _TIMES_EPOCH_GENERATOR if is_generator else _TIMES_EPOCH
    if ratio is None or ratio < least:
        return None
    text = f"The validation had gone on for {ratio:,.0f} times as long as the epoch."
    return _told(attempt, begun, "validation", how, state, text, "possible")


def _epoch(
    attempt: Attempt, begun: facts.TrainingStarted, how: str | None, state: State
) -> Ending | None:
    if _is_given(begun, "steps_per_epoch"):
        return None
    if begun.planned_steps_per_epoch or _epochs(attempt, begun):
        return None
    confidence = _never_stopped_by_callbacks(begun)
    if begun.settings.get("data.infinite") != "True":
        if begun.settings.get("data.loops_for_ever") != "True" or how is None:
            return None
        confidence = confidence and "possible"
    if confidence is None or (confidence != "proven" and how is None):
        return None
    if attempt.last_step <= (begun.first_step or 0):
        return None
    text = f"{_never_ends(begun, 'data')}, and steps_per_epoch is not set."
    return _told(attempt, begun, "epoch", how, state, text, confidence)


def _never_ends(begun: facts.TrainingStarted, what: str) -> str:
    name = "The validation data" if what == "validation" else "The data"
    if begun.settings.get(f"{what}.loops_for_ever") == "True":
        return f"{name} comes from a generator with a loop without an end (while True)"
    if begun.settings.get(f"{what}.kind") == "generator":
        return f"{name} comes from a generator that never returns"
    return f"{name} repeats for ever"


def _never_stopped_by_callbacks(begun: facts.TrainingStarted) -> Confidence | None:
    """How sure it is that no callback would have ended the epoch; None: one may."""
    names = begun.settings.get("callbacks", "").split(",")
    if all(name.strip() in _NEVER_STOP for name in names if name.strip()):
        return "proven"
    stopping = begun.settings.get("callbacks.stopping", "unknown").split(",")
    may = any(name.strip() not in (*_NEVER_STOP, "none") for name in stopping)
    return None if may else "likely"


def _told(
    attempt: Attempt,
    begun: facts.TrainingStarted,
    detail: str,
    how: str | None,
    state: State,
    text: str,
    confidence: Confidence,
) -> Ending:
    at = stopped_at(attempt)
    number = len(_epochs(attempt, begun)) + (begun.initial_epoch or 0) + 1
    name = (
        f"Epoch {number:,}"
        if detail == "epoch"
        else f"The validation of epoch {number:,}"
    )
    steps = "steps_per_epoch" if detail == "epoch" else "validation_steps"
    evidence = [Evidence(text=text, at=at)]
    if how is not None:
        evidence.append(
            Evidence(text=f"It was still in it when it {how}.", strong=False, at=at)
        )
    sure = "" if confidence == "proven" else "probably "
    cannot = "cannot end" if how is None else "could not end"
    return ended(
        state,
        at,
        id="endless_epoch",
        detail=detail,
        confidence=confidence,
        headline=f"{name} {sure}{cannot}: its data never does",
        because=_because(detail, confidence),
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title=f"Say how many batches there shall be: {steps}",
                why=f"{text} It then ends after so many, and the next one goes on from "
                "there.",
                code=f"{steps}={_suggestion(begun, detail)}",
            ),
            _let_it_end(begun, detail),
        ),
        chip="Endless epoch" if detail == "epoch" else "Endless validation",
    )


def _because(detail: str, confidence: Confidence) -> str:
    ends = "An epoch ends with its data, or after a number of steps. "
    if confidence == "proven":
        return f"{ends}Here there is neither."
    if detail == "validation":
        return "It has no plan, and went on for far longer than the epoch before it."
    if confidence == "possible":
        return (
            f"{ends}The second is not set, and the generator seems to go on for ever."
        )
    return f"{ends}Here there is neither, and none of its callbacks seems to stop it."


def _let_it_end(begun: facts.TrainingStarted, detail: str) -> Fix:
    kind = begun.settings.get(f"{'data' if detail == 'epoch' else detail}.kind")
    if kind == "generator":
        return Fix(
            title="Or give a data set or arrays, which begin anew each time",
            why="A generator that ends is empty from then on. Arrays must fit into "
            "memory.",
            code="validation_data=(x_val, y_val)"
            if detail == "validation"
            else f"model.fit(x, y, epochs={begun.planned_epochs or 1})",
        )
    return Fix(
        title="Or take the repeat() away",
        why="Then it ends with the data.",
        code=own_code.searched(r"\.repeat\("),
    )


def _suggestion(begun: facts.TrainingStarted, detail: str) -> int:
    """A number of this run's own, if there is one."""
    batches = begun.settings.get("data.batches", "")
    planned = begun.planned_steps_per_epoch
    if detail == "validation" and planned:
        # A fifth of the data is what people keep for validation.
        return max(1, planned // 5)
    return int(batches) if batches.isdecimal() else 100


def _is_validating(attempt: Attempt) -> bool:
    seen = attempt.last(facts.ProcessEnded)
    if seen is not None and seen.phase is not None:
        return seen.phase in _VALIDATING
    left = attempt.last(facts.TrainingEnded)
    if left is not None and left.during is not None:
        return left.during == "validation"
    return _has_all_steps(attempt)


def _has_all_steps(attempt: Attempt) -> bool:
    """All steps of the epoch under way are done, and it has not ended."""
    begun = attempt.last(facts.TrainingStarted)
    if begun is None or not begun.planned_steps_per_epoch:
        return False
    epochs = _epochs(attempt, begun)
    first = (epochs[-1].last_step if epochs else begun.first_step) or 0
    return attempt.last_step - first >= begun.planned_steps_per_epoch


def _is_given(begun: facts.TrainingStarted, name: str) -> bool:
    return begun.settings.get(name, "None") != "None"


def _epochs(attempt: Attempt, begun: facts.TrainingStarted) -> list[facts.EpochEnded]:
    return [e for e in attempt.all(facts.EpochEnded) if e.training == begun.training]


def _has_validated(attempt: Attempt, begun: facts.TrainingStarted) -> bool:
    return any(e.validation_steps for e in _epochs(attempt, begun))


def _times_epoch(attempt: Attempt, begun: facts.TrainingStarted) -> float | None:
    """How long the last step is ago, against how long the epoch had taken."""
    samples = attempt.samples
    steps, times = samples.column("step"), samples.column(TIME)
    known = measured(steps) & (steps == steps)
    steps, times = steps[known], times[known]
    if len(steps) < 2:
        return None
    moved = times[1:][steps[1:] > steps[:-1]]
    last = float(moved[-1]) if len(moved) else float(times[0])
    since = (attempt.last_seen_at or last) - last
    took = last - begun.wall_time
    if since < _LEAST_SECONDS or took <= 0:
        return None
    return since / took
