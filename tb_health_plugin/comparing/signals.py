"""What two runs are compared by: the signals, where they are, and what matters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.comparing.divergence import Measure
from tb_health_plugin.reading import derived
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.table import TIME, Array, Table, measured

_MIB = float(1 << 20)


@dataclass(frozen=True, slots=True)
class Track:
    """The numbers of one signal as they were measured, NaN included."""

    time: Array
    step: Array
    value: Array

    def __len__(self) -> int:
        return len(self.value)


Tables = Callable[[Attempt], Table]
# Where the numbers of a signal come from; called with the tables of the attempt.
Source = Callable[["Record"], Track]


class Record:
    """One attempt, with the tables that follow from it made once."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self._tables: dict[Tables, Table] = {}

    def table(self, which: Tables) -> Table:
        if which not in self._tables:
            self._tables[which] = which(self.attempt)
        return self._tables[which]


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that may differ between runs.

    Attributes:
        id: Stable name.
        title: Name for people.
        noun: The same within a sentence.
        unit: One of the units of `http_api.md`.
        lane: Lane of the timeline that draws it.
        column: Its column there.
        sources: Where it is found, the best first.
        measure: What counts as a difference.
    """

    id: str
    title: str
    noun: str
    unit: str
    lane: str
    column: str
    sources: tuple[Source, ...]
    measure: Measure


def records(history: RunHistory) -> list[Record]:
    """The last attempt, then what came through summary writers."""
    latest = [history.latest] if history.latest else []
    return [Record(attempt) for attempt in (*latest, *history.summaries)]


def tracks(signal: Signal, found: list[Record]) -> Iterator[Track]:
    """What each source of the signal has; empty where it has nothing."""
    for source in signal.sources:
        held = (source(record) for record in found)
        yield next((track for track in held if len(track)), EMPTY)


EMPTY = Track(np.empty(0), np.empty(0), np.empty(0))


def _samples(attempt: Attempt) -> Table:
    return attempt.samples


def _column(name: str, which: Tables = _samples) -> Source:
    def read(record: Record) -> Track:
        table = record.table(which)
        if not table.has(name):
            return EMPTY
        values = table.column(name)
        known = measured(values)
        step = table.column("step")
        step = np.where(measured(step), step, 0.0)
        return Track(table.column(TIME)[known], step[known], values[known])

    return read


def _share_of_b(share: float, least: float) -> Measure:
    return Measure(lambda a, b: np.maximum(share * np.abs(b), least))


def _at_least(least: float) -> Measure:
    return Measure(lambda a, b: np.full(len(a), least))


def _of_the_way(a: Array, b: Array) -> Array:
    """A fifth of B there, and a tenth of the way B came: seeds differ by less."""
    low, high = np.percentile(b, [5, 95])
    return np.asarray(np.maximum(0.2 * np.abs(b), 0.1 * (high - low)))


def _twice(a: Array, b: Array) -> Array:
    return np.minimum(np.abs(a), np.abs(b))


_LOSS = Measure(_of_the_way, log=True)
# Memory of equal runs differs by a few percent; a library or two is 64 MiB.
_MEMORY = _share_of_b(0.1, 64 * _MIB)
# Equal runs on a shared machine differ by as much as a fifth in speed.
_SPEED = _share_of_b(0.25, 0.0)

SIGNALS = (
    Signal(
        "host_memory",
        "Host memory",
        "host memory",
        "bytes",
        "host_memory",
        "process_rss_bytes",
        (_column("process_rss_bytes"),),
        _MEMORY,
    ),
    Signal(
        "data_wait",
        "Waiting for data",
        "waiting for data",
        "fraction",
        "data_wait",
        "data_wait_fraction",
        (_column("data_wait_fraction", derived.rates),),
        _at_least(0.1),
    ),
    Signal(
        "data_wait_time",
        "Waiting for data",
        "waiting for data",
        "seconds",
        "data_wait",
        "wait_seconds",
        (_column("wait_seconds"),),
        # A wait of a millisecond is none.
        _share_of_b(0.5, 0.001),
    ),
    Signal(
        "throughput",
        "Throughput",
        "throughput",
        "per_second",
        "throughput",
        "steps_per_second",
        (_column("steps_per_second", derived.rates),),
        _SPEED,
    ),
    Signal(
        "step_time",
        "Step time",
        "step time",
        "seconds",
        "step_time",
        "step_seconds",
        (_column("step_seconds"),),
        _SPEED,
    ),
    Signal(
        "loss",
        "Loss",
        "loss",
        "number",
        "loss",
        "loss",
        (_column("loss", derived.loss_profiles), _column("loss")),
        _LOSS,
    ),
    Signal(
        "gradient_norm",
        "Gradient norm",
        "gradient norm",
        "number",
        "gradient_norm",
        "gradient_norm",
        (_column("gradient_norm", derived.inspections),),
        Measure(_twice, log=True),
    ),
    Signal(
        "cpu",
        "CPU",
        "CPU use",
        "count",
        "cpu",
        "cpu_cores",
        (_column("cpu_cores", derived.rates),),
        _share_of_b(0.25, 0.5),
    ),
    Signal(
        "disk_reads",
        "Disk reads per second",
        "reading from disks",
        "bytes",
        "disk",
        "read_bytes_per_second",
        (_column("read_bytes_per_second", derived.rates),),
        _share_of_b(1.0, _MIB),
    ),
    Signal(
        "disk_writes",
        "Disk writes per second",
        "writing to disks",
        "bytes",
        "disk",
        "write_bytes_per_second",
        (_column("write_bytes_per_second", derived.rates),),
        _share_of_b(1.0, _MIB),
    ),
    Signal(
        "temperature",
        "Temperature",
        "temperature",
        "celsius",
        "temperature",
        "temperature_celsius",
        (_column("temperature_celsius"),),
        _at_least(10.0),
    ),
)
