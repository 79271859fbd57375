"""Numbers that are not measured but follow from what is: rates, shares, step times."""

import numpy as np
from numpy.typing import NDArray

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Array, Table, measured

# Column that follows, and the counter whose growth per second it is.
_RATES = {
    "cpu_cores": "tree_cpu_seconds",
    "read_bytes_per_second": "tree_read_bytes",
    "write_bytes_per_second": "tree_write_bytes",
    "network_bytes_per_second": "network_received_bytes",
    "steps_per_second": "step",
}


def rates(attempt: Attempt) -> Table:
    """Growth per second of counters, one row per sample."""
    samples = attempt.samples
    time = samples.column(TIME)
    columns = {TIME: time, "step": samples.column("step")}
    for name, counter in _RATES.items():
        if samples.has(counter):
            columns[name] = _rate(time, samples.column(counter))
    if samples.has("data_waited_seconds"):
        columns["data_wait_fraction"] = _waiting_share(samples)
    if "steps_per_second" in columns:
        steps = columns["steps_per_second"]
        steps[_between_trainings(attempt, time) & (steps == 0)] = NOT_MEASURED
    table = Table()
    table.append(columns)
    return table


def inspections(attempt: Attempt) -> Table:
    """What close looks at single steps found, one row per look."""
    looks = sorted(attempt.all(facts.Inspected), key=lambda one: one.wall_time)
    table = Table()
    if looks:
        table.append(
            {
                TIME: [one.wall_time for one in looks],
                "step": [float(one.step) for one in looks],
                "gradient_norm": [_or_missing(one.gradient_norm) for one in looks],
                "learning_rate": [_or_missing(one.learning_rate) for one in looks],
            }
        )
    return table


def loss_profiles(attempt: Attempt) -> Table:
    """Mean losses of equal parts of the epochs that ended."""
    table = Table()
    for epoch in sorted(attempt.all(facts.EpochEnded), key=lambda one: one.wall_time):
        parts = len(epoch.loss_profile)
        if not parts or epoch.first_step is None or epoch.last_step is None:
            continue
        began = epoch.wall_time if epoch.started_at is None else epoch.started_at
        through = (np.arange(parts) + 0.5) / parts
        losses = list(epoch.loss_profile)
        lost = _lost_at(attempt, epoch)
        if lost is not None:
            # The parts are those before it; from there on there was nothing else.
            until, bad = lost
            through = np.concatenate([through * until, [until, 1.0]])
            losses += [bad, bad]
        table.append(
            {
                TIME: began + through * (epoch.wall_time - began),
                "step": epoch.first_step
                + through * (epoch.last_step - epoch.first_step),
                "loss": losses,
            }
        )
    return table


def _lost_at(attempt: Attempt, epoch: facts.EpochEnded) -> tuple[float, float] | None:
    """Through which share of a loop's epoch its loss was lost for good, and as what.

    A loop keeps its losses as they are, so that its profile has finite ones alone.
    """
    loss = epoch.metrics.get("loss", 0.0)
    first, last = epoch.first_step or 0, epoch.last_step or 0
    if np.isfinite(loss) or not np.isfinite(epoch.loss_profile).all():
        return None
    for one in attempt.all(facts.FirstBadNumber):
        step = -1 if one.bad_step is None else one.bad_step
        if one.training == epoch.training and first <= step < last:
            return (step - first) / (last - first), loss
    return None


def _between_trainings(attempt: Attempt, time: Array) -> NDArray[np.bool_]:
    """Whether a training had ended by then and no other had begun.

    No steps are to be expected then, and a pace of zero would read like a fault.
    """
    began = np.sort([one.wall_time for one in attempt.all(facts.TrainingStarted)])
    ended = np.sort([one.wall_time for one in attempt.all(facts.TrainingEnded)])
    if not len(ended):
        return np.zeros(len(time), bool)
    last_end = np.concatenate([[-np.inf], ended])[np.searchsorted(ended, time, "right")]
    beginnings = np.concatenate([[-np.inf], began])
    last_beginning = beginnings[np.searchsorted(began, time, "right")]
    is_over: NDArray[np.bool_] = np.isfinite(last_end) & (last_end >= last_beginning)
    return is_over


def _waiting_share(samples: Table) -> Array:
    """Share of the time that was waited for data, from one step's end to another's.

    A wait is counted when it is over. While a step goes on nobody knows whether it
    waits: no number, rather than a zero in the middle of a hang.
    """
    time, waited = samples.column(TIME), samples.column("data_waited_seconds")
    share = np.full(len(time), NOT_MEASURED)
    rows = np.flatnonzero(measured(waited))
    if len(rows) < 2:
        return share
    steps = samples.column("step")[rows]
    has_moved = (np.diff(waited[rows]) != 0) | (np.diff(steps) > 0)
    ends = np.concatenate([[0], np.flatnonzero(has_moved) + 1])
    seconds = np.diff(time[rows][ends])
    grown = np.diff(waited[rows][ends])
    # A clock that was set back, or another counter after a restart, gives no share.
    sound = (seconds > 0) & (grown >= 0)
    of_each = np.full(len(grown), NOT_MEASURED)
    of_each[sound] = np.minimum(grown[sound] / seconds[sound], 1.0)
    share[rows[1 : ends[-1] + 1]] = np.repeat(of_each, np.diff(ends))
    return share


def _rate(time: Array, counter: Array) -> Array:
    rate = np.full(len(time), NOT_MEASURED)
    # Some counters are measured more rarely than others.
    rows = np.flatnonzero(measured(counter) & (counter == counter))
    if len(rows) < 2:
        return rate
    seconds = np.diff(time[rows])
    grown = np.diff(counter[rows])
    # A clock that was set back, or another counter after a restart, gives no rate.
    sound = (seconds > 0) & (grown >= 0)
    rate[rows[1:][sound]] = grown[sound] / seconds[sound]
    return rate


def _or_missing(value: float | None) -> float:
    return NOT_MEASURED if value is None else value
