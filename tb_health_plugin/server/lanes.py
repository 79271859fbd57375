"""The lanes of the timeline: which numbers belong together, and their limits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import MOST_GPUS
from tb_health_plugin.reading.derived import inspections, loss_profiles, rates
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.table import TIME, Table, measured
from tb_health_plugin.server.kept_tables import KeptTables

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that must not be reached, and what it is."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One strip of the timeline.

    Attributes:
        id: Stable name.
        title: Name for people.
        unit: One of the units of `http_api.md`.
        series: Columns and their titles. Those without data are left out.
        limits: Finds the limits to draw.
        table: Where its columns are: the samples, or what follows from them.
    """

    id: str
    title: str
    unit: str
    series: dict[str, str]
    limits: Callable[[Table], list[Limit]] = lambda _: []
    table: Callable[[Attempt], Table] = lambda attempt: attempt.samples


def memory_limit(table: Table) -> Limit | None:
    """The tightest limit on memory that was seen last: the container's or all."""
    for column, what in (
        ("cgroup_memory_limit_bytes", "container"),
        ("host_memory_total_bytes", "machine"),
    ):
        if table.has(column):
            values = table.column(column)
            value = float(values[values == values][-1])
            return Limit(value, f"limit {value / _GIB:.1f} GiB ({what})")
    return None


def _memory_limits(table: Table) -> list[Limit]:
    limit = memory_limit(table)
    return [limit] if limit else []


def _gpu_memory_limits(table: Table) -> list[Limit]:
    """What the smallest of the cards has: the first that can run out."""
    least = _least_of_gpus(table, "memory_total_bytes")
    return [] if least is None else [Limit(least, f"all {least / _GIB:.1f} GiB")]


def _gpu_heat_limits(table: Table) -> list[Limit]:
    """Where the first of the cards slows itself down."""
    least = _least_of_gpus(table, "slowdown_celsius")
    return [] if least is None else [Limit(least, f"slows down at {least:.0f} °C")]


def _gpu_power_limits(table: Table) -> list[Limit]:
    """What the first of the cards may draw."""
    least = _least_of_gpus(table, "power_limit_watts")
    return [] if least is None else [Limit(least, f"may draw {least:.0f} W")]


def _least_of_gpus(table: Table, column: str) -> float | None:
    """The lowest of what the cards said last; None if none said it."""
    said = [
        float(values[values == values][-1])
        for gpu in range(MOST_GPUS)
        if table.has(name := f"gpu{gpu}_{column}")
        for values in [table.column(name)]
        if (values == values).any()
    ]
    return min(said, default=None)


def _while_alive(attempt: Attempt) -> Table:
    """Samples up to the last of the process; what is free after it says nothing."""
    samples = attempt.samples
    alive = np.flatnonzero(measured(samples.column("process_rss_bytes")))
    return (
        samples.until(float(samples.column(TIME)[alive[-1]])) if len(alive) else samples
    )


def _bus(attempt: Attempt) -> Table:
    """Traffic on the bus: it is measured rarely, so without the rows between."""
    samples, table = attempt.samples, Table()
    names = [name for name in _BUS if samples.has(name)]
    if names:
        known = np.any([measured(samples.column(name)) for name in names], axis=0)
        table.append({n: samples.column(n)[known] for n in (TIME, "step", *names)})
    return table


def losses(attempt: Attempt) -> Table:
    """The loss as finely as it was recorded, and that of the validation.

    Epochs that ended left more detail than samples once a second, where steps are
    quick; the epoch under way at the end has only its samples.
    """
    samples, parts = attempt.samples, loss_profiles(attempt)
    sampled = np.flatnonzero(measured(samples.column("loss")))
    if len(parts) <= len(sampled):
        rows = {name: samples.column(name) for name in (TIME, "step", "loss")}
    else:
        last = float(parts.column(TIME)[-1])
        later = sampled[samples.column(TIME)[sampled] > last]
        rows = {
            name: np.concatenate([parts.column(name), samples.column(name)[later]])
            for name in (TIME, "step", "loss")
        }
    table = Table()
    table.append(rows)
    return _with_validation(table, attempt)


def _with_validation(table: Table, attempt: Attempt) -> Table:
    ends = [e for e in attempt.all(facts.EpochEnded) if "val_loss" in e.metrics]
    if not ends:
        return table
    table.append(
        {
            TIME: [epoch.wall_time for epoch in ends],
            "step": [float(epoch.step) for epoch in ends],
            "val_loss": [epoch.metrics["val_loss"] for epoch in ends],
        }
    )
    order = np.argsort(table.column(TIME), kind="stable")
    sorted_ = Table()
    sorted_.append({name: table.column(name)[order] for name in table.names})
    return sorted_


def _of_gpus(column: str) -> dict[str, str]:
    return {f"gpu{gpu}_{column}": f"GPU {gpu}" for gpu in range(MOST_GPUS)}


_BUS = {
    f"gpu{gpu}_pcie_{way}_bytes_per_second": f"GPU {gpu} {way}"
    for gpu in range(MOST_GPUS)
    for way in ("received", "sent")
}

LANES = (
    Lane(
        "host_memory",
        "Host memory",
        "bytes",
        {
            "process_rss_bytes": "This training",
            "cgroup_memory_used_bytes": "Whole container",
            "host_memory_used_bytes": "Whole machine",
        },
        _memory_limits,
        _while_alive,
    ),
    Lane(
        "data_wait",
        "Waiting for data",
        "fraction",
        {"data_wait_fraction": "Share of time"},
        table=rates,
    ),
    # What the user's own summary writer was told, step by step.
    Lane("data_wait", "Waiting for data", "seconds", {"wait_seconds": "Wait"}),
    Lane(
        "throughput",
        "Throughput",
        "per_second",
        {"steps_per_second": "Steps"},
        table=rates,
    ),
    Lane("step_time", "Step time", "seconds", {"step_seconds": "Step"}),
    Lane(
        "loss",
        "Loss",
        "number",
        {"loss": "Training", "val_loss": "Validation"},
        table=losses,
    ),
    Lane(
        "gradient_norm",
        "Gradient norm",
        "number",
        {"gradient_norm": "All gradients"},
        table=inspections,
    ),
    Lane("cpu", "CPU", "count", {"cpu_cores": "Cores in use"}, table=rates),
    Lane("gpu", "GPU busy", "fraction", _of_gpus("busy_fraction")),
    Lane(
        "gpu_memory",
        "GPU memory",
        "bytes",
        _of_gpus("memory_used_bytes"),
        _gpu_memory_limits,
    ),
    Lane(
        "gpu_temperature",
        "GPU temperature",
        "celsius",
        _of_gpus("temperature_celsius"),
        _gpu_heat_limits,
    ),
    Lane(
        "gpu_power",
        "GPU power",
        "watts",
        _of_gpus("power_watts"),
        _gpu_power_limits,
    ),
    Lane("gpu_bus", "GPU bus traffic per second", "bytes", _BUS, table=_bus),
    Lane(
        "disk",
        "Disk traffic per second",
        "bytes",
        {"read_bytes_per_second": "Read", "write_bytes_per_second": "Written"},
        table=rates,
    ),
    Lane(
        "temperature", "Temperature", "celsius", {"temperature_celsius": "Hottest part"}
    ),
)


_TABLES = KeptTables()


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """A lane with data.

    Attributes:
        lane: Which one.
        columns: Those of its columns that were measured.
        table: Where they are.
        period_seconds: Time between two rows as planned; 0 if there is no plan.
    """

    lane: Lane
    columns: list[str]
    table: Table
    period_seconds: float


def drawn_lanes(history: RunHistory, only: str = "") -> dict[str, DrawnLane]:
    """The lanes to draw: from the last attempt, else from summaries.

    Args:
        history: Of the run.
        only: Id of the only lane that is wanted; the others cost nothing then.
    """
    sources = [history.latest] if history.latest else []
    found: dict[str, DrawnLane] = {}
    for lane in LANES:
        if only not in ("", lane.id):
            continue
        for attempt in (*sources, *history.summaries):
            if lane.id in found:
                continue
            # Several lanes are columns of one table.
            table = _TABLES.table(attempt, lane.table)
            columns = _measured_columns(lane, table)
            if columns:
                # What comes when it can be afforded has no rhythm to miss.
                irregular = lane.table in (inspections, losses, _bus)
                period = 0.0 if irregular else attempt.period_seconds
                found[lane.id] = DrawnLane(lane, columns, table, period)
    return found


def _measured_columns(lane: Lane, table: Table) -> list[str]:
    columns = [column for column in lane.series if table.has(column)]
    if not table.has("cgroup_memory_limit_bytes"):
        # A group without a limit of its own is nothing a user knows of.
        columns = [c for c in columns if not c.startswith("cgroup_")]
    return columns
