"""Numbers that are not measured but follow from what is: rates, shares, step times."""

import numpy as np
from numpy.typing import NDArray

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Array, Table, measured

# Column that follows, and the counter whose growth per second it is.
_RATES = {
    "data_wait_fraction": "data_waited_seconds",
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
    if "data_wait_fraction" in columns:
        # A wait that began before the sample before ends in this one.
        share = columns["data_wait_fraction"]
        known = measured(share)
        share[known] = np.minimum(share[known], 1.0)
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
        table.append(
            {
                TIME: began + through * (epoch.wall_time - began),
                "step": epoch.first_step
                + through * (epoch.last_step - epoch.first_step),
                "loss": list(epoch.loss_profile),
            }
        )
    return table


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
