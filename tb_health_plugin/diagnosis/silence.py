"""A run that was ended while it was silent, before anybody had called it a stall."""

import itertools
import math
import signal
from dataclasses import replace

from tb_health_plugin.diagnosis import data_alone, hosting
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.hang_words import CHIPS, FIXES_UNSEEN
from tb_health_plugin.diagnosis.memory_kills import was_for_memory
from tb_health_plugin.diagnosis.moments import is_under_way, moment
from tb_health_plugin.diagnosis.peers import tasks
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    State,
)
from tb_health_plugin.events import facts
from tb_health_plugin.events.python_stacks import (
    innermost_own_frame,
    parse,
    training_thread,
)
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Array, measured

# Shorter than this nobody loses patience.
LEAST_SECONDS = 8.0
# Steps vary; a pause of so many usual steps is another thing.
TIMES_USUAL = 10.0
# A pause that the run came out of before may come again.
TIMES_LONGEST = 1.5
# So many steps tell what is usual.
LEAST_STEPS = 10
# At least this part of what one thread could have had: it computes.
BUSY = 0.7
# Less than this share of a core: it does nothing.
IDLE = 0.05
# Between epochs people save and report: only so long a silence without any work counts.
LONG_SECONDS = 60.0
# Unless so many breaks between epochs have shown what is usual there.
LEAST_BREAKS = 3
# Python's own alarm clock: it runs while callbacks do, from an epoch's end to the next.
_BETWEEN_EPOCHS = """keras.callbacks.LambdaCallback(
    on_epoch_end=lambda *_: faulthandler.dump_traceback_later({seconds}, exit=True),
    on_epoch_begin=lambda *_: faulthandler.cancel_dump_traceback_later(),
    on_train_end=lambda *_: faulthandler.cancel_dump_traceback_later())"""

# What people and schedulers send to a training that hangs: the state, and the words.
ENDS: dict[int, tuple[State, str]] = {
    int(signal.SIGKILL): ("died", "was killed"),
    int(signal.SIGTERM): ("ended_early", "was asked to stop"),
    int(signal.SIGINT): ("ended_early", "was stopped by Ctrl-C"),
}


def hang(attempt: Attempt, seen: facts.ProcessEnded) -> Ending | None:
    """The hang that it was in when it was ended; None if it was not silent."""
    silent = seen.silent_seconds
    if seen.signal not in ENDS or silent is None or not is_under_way(attempt):
        return None
    if was_for_memory(attempt, seen):
        return None
    usual = _usual(attempt, seen, silent)
    if usual is None or silent < max(LEAST_SECONDS, TIMES_USUAL * usual):
        return None
    if silent < TIMES_LONGEST * _longest(attempt, seen, silent):
        return None
    cause = _cause(attempt, seen, silent)
    return None if cause is None else _ending(attempt, seen, silent, usual, *cause)


def _cause(
    attempt: Attempt, seen: facts.ProcessEnded, silent: float
) -> tuple[str, Confidence, str] | None:
    cpu = _cpu(attempt, seen, silent)
    if seen.phase == "between_epochs":
        if cpu is None or cpu > IDLE or silent < _patience_between_epochs(attempt):
            return None
        because = "It stood between two epochs, where only callbacks run."
        return "callback_hang", "possible", because
    if seen.phase not in ("training", "validation"):
        return None
    if cpu is not None and cpu >= BUSY * _share_of_a_thread(attempt):
        return "compute_hang", "likely", "It computed all the time, and no step ended."
    if tasks(attempt) > 1:
        because = "It is one of several workers that go in step."
        return "peer_lost", "possible", because
    if cpu is not None and cpu <= IDLE and _has_python_data(attempt):
        because = "It did nothing, and its data is made by Python code."
        return "input_hang", "possible", because
    return "compute_hang", "possible", "What it waited for was not seen."


def _patience_between_epochs(attempt: Attempt) -> float:
    """Longer than any break between two epochs of this training is usual."""
    begun = attempt.last(facts.TrainingStarted)
    epochs = [
        epoch
        for epoch in attempt.all(facts.EpochEnded)
        if begun is not None and epoch.training == begun.training
    ]
    breaks = [
        after.started_at - before.wall_time
        for before, after in itertools.pairwise(epochs)
        if after.started_at is not None
    ]
    if len(breaks) < LEAST_BREAKS:
        return LONG_SECONDS
    return max(LEAST_SECONDS, TIMES_USUAL * max(breaks))


def _has_python_data(attempt: Attempt) -> bool:
    begun = attempt.last(facts.TrainingStarted)
    settings = begun.settings if begun else {}
    kind = settings.get("data.kind")
    return kind in ("generator", "PyDataset") or settings.get("data.python") == "True"


def _ending(
    attempt: Attempt,
    seen: facts.ProcessEnded,
    silent: float,
    usual: float,
    verdict_id: str,
    confidence: Confidence,
    because: str,
) -> Ending:
    state, how = ENDS[seen.signal or 0]
    step = attempt.last_step
    at = moment(attempt, step, seen.wall_time - silent)
    end = moment(attempt, step, seen.wall_time)
    frame = innermost_own_frame(training_thread(parse(seen.stacks or "")))
    text = (
        f"Nothing went on for {silent:,.0f} seconds; a step takes {usual:,.2g} s or "
        "less in this run."
    )
    probably = "Probably stood" if confidence == "possible" else "Stood"
    return ended(
        state,
        end,
        id=verdict_id,
        detail="busy" if confidence == "likely" else "unknown",
        confidence=confidence,
        headline=f"{probably} still for {silent:,.0f} s at step {step:,}, then {how}",
        because=because,
        since=at,
        place={"file": frame.file, "line": frame.line} if frame else {},
        evidence=(
            Evidence(text=text, at=at),
            *_cpu_evidence(_cpu(attempt, seen, silent), confidence, at),
            Evidence(
                text=f"It was silent until {signal.Signals(seen.signal or 0).name} "
                "ended it.",
                strong=False,
                at=end,
            ),
        ),
        fixes=(_fix(attempt, verdict_id),),
        chip=CHIPS[verdict_id],
    )


def _fix(attempt: Attempt, verdict_id: str) -> Fix:
    """What to do, with a line of this run's own if there is none for all."""
    fix = FIXES_UNSEEN[verdict_id]
    if verdict_id == "peer_lost":
        return replace(fix, code=hosting.others(attempt))
    if verdict_id == "input_hang":
        begun = attempt.last(facts.TrainingStarted)
        return data_alone.looped(fix, begun)
    if verdict_id == "callback_hang":
        seconds = math.ceil(max(LONG_SECONDS, _patience_between_epochs(attempt)))
        return replace(fix, code=_BETWEEN_EPOCHS.format(seconds=seconds))
    return fix


def _cpu_evidence(
    cpu: float | None, confidence: Confidence, at: Moment
) -> tuple[Evidence, ...]:
    if cpu is None:
        return ()
    text = f"It used {cpu:.0%} of a core in that time."
    return (Evidence(text=text, strong=confidence == "likely", at=at),)


def _usual(attempt: Attempt, seen: facts.ProcessEnded, silent: float) -> float | None:
    """Seconds per step since the training began; compiling only makes it longer."""
    begun = attempt.last(facts.TrainingStarted)
    if begun is None:
        return None
    steps = attempt.last_step - (begun.first_step or 0)
    seconds = seen.wall_time - silent - begun.wall_time
    return max(0.0, seconds) / steps if steps >= LEAST_STEPS else None


def _longest(attempt: Attempt, seen: facts.ProcessEnded, silent: float) -> float:
    """The longest time without a step that it came out of."""
    times, steps = _samples(attempt)
    before = times <= seen.wall_time - silent
    times, steps = times[before], steps[before]
    if len(steps) < 2:
        begun = attempt.last(facts.TrainingStarted)
        return seen.wall_time - silent - begun.wall_time if begun else 0.0
    moved = times[1:][steps[1:] > steps[:-1]]
    if len(moved) < 2:
        return float(times[-1] - times[0])
    return float((moved[1:] - moved[:-1]).max())


def _samples(attempt: Attempt) -> tuple[Array, Array]:
    steps, times = attempt.samples.column("step"), attempt.samples.column(TIME)
    known = measured(steps) & (steps == steps)
    return times[known], steps[known]


def _share_of_a_thread(attempt: Attempt) -> float:
    """What a thread that computes gets of a core; on a crowded machine less than 1."""
    load, cores = _last(attempt, "load_1min"), _last(attempt, "machine_cpu_cores")
    if not load or not cores:
        return 1.0
    return min(1.0, cores / load)


def _last(attempt: Attempt, column: str) -> float | None:
    values = attempt.samples.column(column)
    known = values[measured(values) & (values == values)]
    return float(known[-1]) if len(known) else None


def _cpu(attempt: Attempt, seen: facts.ProcessEnded, silent: float) -> float | None:
    """Share of a core that was used in the silence."""
    values, times = (
        attempt.samples.column("tree_cpu_seconds"),
        attempt.samples.column(TIME),
    )
    known = measured(values) & (times >= seen.wall_time - silent)
    values, times = values[known], times[known]
    if len(values) < 3 or times[-1] - times[0] <= 0:
        return None
    # The last sample may be of a process that is already going.
    return float((values[-2] - values[0]) / (times[-2] - times[0]))
