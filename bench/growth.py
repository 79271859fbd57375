"""Does anything grow faster than what it is made of?

Each cost is measured at several sizes, in CPU time, and a line is laid through the
largest ones on logarithmic axes. Its slope is 0 for a cost that stays the same, 1 for
one that grows in step, 2 for one that is quadratic.
"""

import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import long_run, many_runs, many_workers
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile, encode_fact
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.sample_reader import SampleReader
from tb_health_plugin.reading.table import Table
from tb_health_plugin.server import answers, raw_events, training_page, workers
from tb_health_plugin.server.view import View
from tb_health_plugin.writing.black_box import BlackBox, make_file

# A slope up to here is "in step": a cache that no longer fits costs more than that.
STEEPEST = 1.2
# The line goes through so many of the largest sizes; at small ones what is paid once
# hides what grows.
FITTED = 3
RUN = "run"

Ask = Callable[[], Any]


@dataclass(frozen=True)
class Curve:
    """A cost by size.

    Attributes:
        what: What costs.
        of: What is counted.
        points: CPU milliseconds, the least of several rounds, by size.
    """

    what: str
    of: str
    points: dict[int, float]

    @property
    def slope(self) -> float:
        fitted = list(self.points.items())[-FITTED:]
        xs = [math.log(size) for size, _ in fitted]
        ys = [math.log(max(cost, 1e-3)) for _, cost in fitted]
        x, y = sum(xs) / len(xs), sum(ys) / len(ys)
        spread = sum((one - x) ** 2 for one in xs)
        return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread

    @property
    def holds(self) -> bool:
        return self.slope <= STEEPEST

    @property
    def row(self) -> str:
        costs = ", ".join(f"{size:,}: {cost:.4g}" for size, cost in self.points.items())
        word = "linear or better" if self.holds else "GROWS FASTER"
        return f"| {self.of} | {self.what} | {costs} | {self.slope:.2f} | {word} |"


@dataclass(frozen=True)
class Growth:
    """All curves as one table."""

    curves: tuple[Curve, ...]

    def __str__(self) -> str:
        head = [
            "### How costs grow\n",
            "| number of | what | CPU ms by size | slope | |",
            "| --- | --- | --- | --- | --- |",
        ]
        return "\n".join([*head, *(curve.row for curve in self.curves)])

    def as_json(self) -> dict[str, Any]:
        return {
            "question": "growth",
            "curves": [
                {
                    "of": one.of,
                    "what": one.what,
                    "cpu_ms": {str(size): cost for size, cost in one.points.items()},
                    "slope": one.slope,
                    "holds": one.holds,
                }
                for one in self.curves
            ],
        }


def ask(rounds: int) -> list[Growth]:
    quick = bool(os.environ.get("QUICK"))
    most = 1 if quick else min(rounds, 3)
    return [Growth(tuple(curve for make in MAKERS for curve in make(most, quick)))]


def _sizes(quick: bool, *sizes: int) -> Sequence[int]:
    """Each second of them, the smaller ones, if there is little time."""
    return sizes[:-1][-FITTED:] if quick else sizes


def _cost(rounds: int, call: Ask) -> float:
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        spent.append((time.process_time() - began) * 1e3)
    return min(spent)


@contextmanager
def _logs() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "logs"


def _view(logs: Path) -> View:
    view = View(Library([Root(logs)]), clock=lambda: long_run.BEGAN + 30 * 86_400)
    view.refresh()
    return view


def runs(rounds: int, quick: bool) -> Iterator[Curve]:
    cold: dict[int, float] = {}
    again: dict[int, float] = {}
    listed: dict[int, float] = {}
    for size in _sizes(quick, 10, 30, 100, 300, 1_000):
        with _logs() as logs:
            for number in range(size):
                many_runs.attempt(
                    logs / f"run_{number:04}", 1e9 + number, 60, 100, fails=True
                )
            cold[size] = _cost(rounds, lambda logs=logs: _view(logs))
            view = _view(logs)
            again[size] = _cost(rounds, view.refresh)
            listed[size] = _cost(rounds, lambda view=view: answers.run_list(view))
    yield Curve("reading and judging all", "runs", cold)
    yield Curve("looking again, nothing new", "runs", again)
    yield Curve("the answer of /runs", "runs", listed)


def hours(rounds: int, quick: bool) -> Iterator[Curve]:
    cold: dict[int, float] = {}
    told: dict[int, float] = {}
    lane: dict[int, float] = {}
    for size in _sizes(quick, 1, 3, 9, 27, 72):
        with _logs() as logs:
            write(logs, long_run.told(size * 3_600), samples=size * 3_600)
            cold[size] = _cost(rounds, lambda logs=logs: _view(logs))
            view = _view(logs)
            told[size] = _cost(rounds, lambda view=view: answers.run_story(view, RUN))
            lane[size] = _cost(rounds, lambda view=view: _lane(view))
    yield Curve("reading and judging the run", "hours", cold)
    yield Curve("the answer of /run", "hours", told)
    yield Curve("the answer of /lane, all of it", "hours", lane)


def _lane(view: View) -> object:
    whole = {"begin": -math.inf, "end": math.inf}
    return answers.lane_points(
        view, RUN, "host_memory", axis="time", buckets=800, **whole
    )


def layers(rounds: int, quick: bool) -> Iterator[Curve]:
    handed: dict[int, float] = {}
    cold: dict[int, float] = {}
    page: dict[int, float] = {}
    for size in _sizes(quick, 10, 100, 1_000, 3_000, 10_000):
        told = list(long_run.told(30, size))
        looks = [fact for fact in told if isinstance(fact, facts.Inspected)]
        handed[size] = _cost(rounds, lambda one=looks[0]: _hand_over(one))
        with _logs() as logs:
            write(logs, iter(told), samples=30)
            cold[size] = _cost(rounds, lambda logs=logs: _view(logs))
            view = _view(logs)
            page[size] = _cost(
                rounds, lambda view=view: training_page.training(view, RUN)
            )
    yield Curve("handing a look over, in the trainer", "layers", handed)
    yield Curve("reading and judging the run", "layers", cold)
    yield Curve("the answer of /training", "layers", page)


def _hand_over(fact: facts.Fact) -> None:
    box = BlackBox(make_file())
    assert box.put(encode_fact(fact))
    box.close()


def team(rounds: int, quick: bool) -> Iterator[Curve]:
    cold: dict[int, float] = {}
    again: dict[int, float] = {}
    cells: dict[int, float] = {}
    for size in _sizes(quick, 4, 16, 64, 256, 1_000):
        with _logs() as logs:
            many_workers.generate(logs, size, 0.25)
            cold[size] = _cost(1, lambda logs=logs: _view(logs))
            view = _view(logs)
            again[size] = _cost(rounds, view.refresh)
            cells[size] = _cost(
                rounds,
                lambda view=view: workers.worker_cells(
                    view, RUN, "step_seconds", buckets=120
                ),
            )
    yield Curve("reading and judging the run", "workers", cold)
    yield Curve("looking again, nothing new", "workers", again)
    yield Curve("the answer of /workers", "workers", cells)


def events(rounds: int, quick: bool) -> Iterator[Curve]:
    cold: dict[int, float] = {}
    told: dict[int, float] = {}
    raw: dict[int, float] = {}
    for size in _sizes(quick, 100, 1_000, 10_000, 30_000, 100_000):
        with _logs() as logs:
            write(logs, _incidents(size), samples=60)
            cold[size] = _cost(rounds, lambda logs=logs: _view(logs))
            view = _view(logs)
            told[size] = _cost(rounds, lambda view=view: answers.run_story(view, RUN))
            raw[size] = _cost(
                rounds, lambda view=view: raw_events.raw_events(view, RUN, 200)
            )
    yield Curve("reading and judging the run", "events", cold)
    yield Curve("the answer of /run", "events", told)
    yield Curve("the answer of /events", "events", raw)


def _incidents(count: int) -> Iterator[facts.Fact]:
    yield from long_run.told(60)
    for number in range(count):
        at = long_run.BEGAN + 60 * number / count
        yield facts.Incident(
            wall_time=at, step=number, kind="warning", message=f"warning {number}"
        )


def damages(rounds: int, quick: bool) -> Iterator[Curve]:
    """Every second sample is damaged; all others must still be found."""
    cost: dict[int, float] = {}
    for size in _sizes(quick, 100, 1_000, 10_000, 30_000, 100_000):
        with _logs() as logs:
            logs.mkdir()
            path = logs / "samples.000.tfrecord"
            file = SampleFile(path, ("step", "loss"), period_seconds=1.0, now=1.0)
            begin = path.stat().st_size
            for second in range(size):
                file.append(1.0 + second, [float(second), 0.5])
            file.close()
            data = bytearray(path.read_bytes())
            record = (len(data) - begin) // size
            for at in range(begin + 20, len(data), 2 * record):
                data[at] ^= 0xFF
            path.write_bytes(bytes(data))
            cost[size] = _cost(rounds, lambda path=path, n=size // 2: _found(path, n))
    yield Curve("reading a file with every second one damaged", "samples", cost)


def _found(path: Path, expected: int) -> None:
    table = Table()
    SampleReader(path).read_into(table)
    assert len(table) == expected


def write(logs: Path, told: Iterator[facts.Fact], *, samples: int) -> None:
    """One run with these facts and so many samples, as the recorder leaves it."""
    directory = logs / RUN / HEALTH_DIRECTORY / "recorded"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    records = EventFile(directory / str(FileName("records", 0)), now=long_run.BEGAN)
    for fact in told:
        records.append_fact(fact)
    records.close()
    columns = long_run.samples(0, samples)
    times = columns.pop("wall_time").tolist()
    path = directory / str(FileName("samples", 0))
    file = SampleFile(path, tuple(columns), period_seconds=1.0, now=long_run.BEGAN)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    for at, row in zip(times, rows, strict=True):
        file.append(at, list(row))
    file.close()


MAKERS = (runs, hours, layers, team, events, damages)


if __name__ == "__main__":
    for result in ask(3):
        print(result)
        sys.exit(0 if all(curve.holds for curve in result.curves) else 1)
