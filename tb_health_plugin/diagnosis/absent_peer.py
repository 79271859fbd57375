"""A worker that waits for others before its training has begun."""

from tb_health_plugin.diagnosis import durations, hosting
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.peers import own_task, serves, tasks
from tb_health_plugin.diagnosis.silence import IDLE
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, State
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, measured
from tb_health_plugin.reading.workers import worker_of

# So long without any work: it waits for somebody, and does not load or compile.
_LEAST_IDLE_SECONDS = 8.0


def ending(attempt: Attempt, how: str | None, state: State) -> Ending | None:
    """One of several workers that waits for the others to come; None if it does not.

    Args:
        attempt: The record, without a training.
        how: What ended it, as in "was killed"; None if it goes on.
        state: The state for that.
    """
    own = own_task(attempt)
    if own is None or serves(attempt) or not _did_nothing(attempt):
        return None
    at = stopped_at(attempt)
    seconds = (attempt.last_seen_at or 0.0) - (attempt.started_at or 0.0)
    then = f", then {how}" if how else ""
    return ended(
        state,
        at,
        id="peer_lost",
        detail="absent",
        confidence="possible",
        headline=f"Probably waited {durations.words(seconds)} for another worker{then}",
        because="It is one of several tasks, did nothing, and no training began. A "
        "strategy waits until all tasks have come.",
        since=Moment(step=0, wall_time=attempt.started_at),
        evidence=(
            Evidence(
                text=f"It is {own} of {tasks(attempt)} tasks in TF_CONFIG.", at=at
            ),
            Evidence(text="It used no CPU at the end.", at=at),
            Evidence(text="No training began.", strong=False, at=at),
        ),
        fixes=(
            Fix(
                title="Start every task that TF_CONFIG names",
                why=f"There are {tasks(attempt)}. Each must be started, with the same "
                "addresses, and reach the others.",
                code=_where_they_are(attempt),
            ),
        ),
        chip="Worker absent",
    )


def _where_they_are(attempt: Attempt) -> str:
    """The addresses, which are not on record; or how the others are."""
    worker = worker_of(attempt)
    if worker is not None and worker.by == "TF_CONFIG":
        return "printenv TF_CONFIG  # on each machine: only the task may differ"
    return hosting.others(attempt)


def _did_nothing(attempt: Attempt) -> bool:
    """No CPU was used in the last samples."""
    samples = attempt.samples
    values, times = samples.column("tree_cpu_seconds"), samples.column(TIME)
    known = measured(values)
    values, times = values[known][:-1], times[known][:-1]
    if not len(times) or times[-1] - times[0] < _LEAST_IDLE_SECONDS:
        return False
    last = times >= times[-1] - _LEAST_IDLE_SECONDS
    seconds = float(times[last][-1] - times[last][0])
    used = float(values[last][-1] - values[last][0])
    return seconds > 0 and used / seconds < IDLE
