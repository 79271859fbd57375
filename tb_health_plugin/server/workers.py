"""Worker by time: what every worker of a start did, as the cells of a heat map."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.diagnosis.together import WorkerStory
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Array, Table
from tb_health_plugin.server import payloads
from tb_health_plugin.server.errors import NotFound, RequestError
from tb_health_plugin.server.view import View

MOST_BUCKETS = 400
DEFAULT_BUCKETS = 120
# As many rows as a page can show; neighbours share a row, and the worst of them counts.
MOST_ROWS = 100
# A cell covers so many samples at least.
SAMPLES_PER_CELL = 2
# Which of several workers in one row gives the row its part.
_PARTS = ("root", "same", "consequence", "no record", "fine")


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What a cell shows.

    Attributes:
        unit: As in the units of lanes.
        cells: One number per stretch of time; NaN where there is none.
    """

    unit: str
    cells: Callable[[Table, Array, float], Array]


def worker_cells(
    view: View, name: str, quantity: str, *, buckets: int = DEFAULT_BUCKETS
) -> payloads.WorkerCells:
    """`GET /workers`.

    Raises:
        NotFound: There is no such run, or it had one worker.
        RequestError: A parameter is not known or out of its range.
    """
    chosen = QUANTITIES.get(quantity)
    if chosen is None:
        known = ", ".join(QUANTITIES)
        raise RequestError(f'quantity="{quantity}" is not known: expected {known}.')
    if not 1 <= buckets <= MOST_BUCKETS:
        raise RequestError(
            f"buckets={buckets} is out of range: expected 1 to {MOST_BUCKETS}."
        )
    told = view.run(name)
    workers = told.start.workers if told and told.start else ()
    if not workers:
        raise NotFound(f'There is no run of several workers called "{name}".')
    edges = _edges([one for one in workers if one.attempt], buckets)
    rows = [
        _row(workers[first : first + size], chosen, edges)
        for size in [-(-len(workers) // MOST_ROWS)]
        for first in range(0, len(workers), size)
    ]
    return {
        "quantity": quantity,
        "unit": chosen.unit,
        "time": ((edges[:-1] + edges[1:]) / 2).tolist(),
        "rows": rows,
    }


def _row(
    workers: Sequence[WorkerStory], quantity: _Quantity, edges: Array
) -> payloads.WorkerRow:
    """One worker, or several that share a row."""
    nothing = np.full(len(edges) - 1, np.nan)
    cells = nothing
    for one in workers:
        if one.attempt is not None:
            ahead = one.clock_ahead_seconds or 0.0
            own = quantity.cells(
                one.attempt.samples, edges + ahead, _until(one.attempt)
            )
            cells = np.fmax(cells, own)
    first, last = workers[0].name, workers[-1].name
    return {
        "name": first if len(workers) == 1 else f"{first} to {last}",
        "workers": len(workers),
        "part": min((one.part for one in workers), key=_PARTS.index),
        "values": [value if value == value else None for value in cells.tolist()],
    }


def _edges(workers: Sequence[WorkerStory], buckets: int) -> Array:
    """From the first to the last moment of all, by the clock of the first worker."""
    begins, ends, periods = [], [], []
    for one in workers:
        ahead = one.clock_ahead_seconds or 0.0
        if one.attempt is not None and one.attempt.started_at is not None:
            begins.append(one.attempt.started_at - ahead)
            ends.append(_until(one.attempt) - ahead)
            periods.append(one.attempt.period_seconds)
    begin, end = min(begins, default=0.0), max(ends, default=1.0)
    end = max(end, begin + 1.0)
    # A stretch without a sample would look as if nothing had gone on in it.
    shortest = SAMPLES_PER_CELL * max(periods, default=0.0)
    if shortest > 0:
        buckets = max(1, min(buckets, int((end - begin) / shortest)))
    return np.linspace(begin, end, buckets + 1)


def _until(attempt: Attempt) -> float:
    return attempt.last_seen_at or 0.0


def _step_seconds(table: Table, edges: Array, until: float) -> Array:
    """Seconds per step; where none was finished, how long the last one is ago."""
    times, steps = _known(table, "step")
    if not len(times) or steps[-1] <= 0:
        return np.full(len(edges) - 1, np.nan)
    done = _at(times, steps, edges)
    finished = np.diff(done)
    width = float(edges[1] - edges[0])
    # When each number of finished steps was first seen.
    firsts = times[
        np.searchsorted(steps, done[1:], side="left").clip(max=len(times) - 1)
    ]
    silent = np.minimum(edges[1:], until) - firsts
    cells = np.where(finished > 0, width / np.maximum(finished, 1), silent)
    trains = (edges[1:] > times[np.argmax(steps > 0)]) & (edges[:-1] < until)
    return np.where(trains, cells, np.nan)


def _wait_share(table: Table, edges: Array, until: float) -> Array:
    times, waited = _known(table, "data_waited_seconds")
    if not len(times):
        return np.full(len(edges) - 1, np.nan)
    share = np.diff(_at(times, waited, edges)) / (edges[1] - edges[0])
    inside = (edges[1:] > times[0]) & (edges[:-1] < min(until, times[-1]))
    return np.where(inside, np.clip(share, 0.0, 1.0), np.nan)


def _memory(table: Table, edges: Array, until: float) -> Array:
    times, held = _known(table, "process_rss_bytes")
    cells = np.full(len(edges) - 1, np.nan)
    where = np.searchsorted(edges, times, side="right") - 1
    inside = (where >= 0) & (where < len(cells))
    np.fmax.at(cells, where[inside], held[inside])
    return cells


def _known(table: Table, column: str) -> tuple[Array, Array]:
    times, values = table.column(TIME), table.column(column)
    known = np.isfinite(values)
    return times[known], values[known]


def _at(times: Array, values: Array, moments: Array) -> Array:
    """The last value known at each moment; the first one before that."""
    where = np.searchsorted(times, moments, side="right") - 1
    found: Array = values[np.maximum(where, 0)]
    return found


QUANTITIES = {
    "step_seconds": _Quantity("seconds", _step_seconds),
    "data_wait": _Quantity("fraction", _wait_share),
    "memory": _Quantity("bytes", _memory),
}
