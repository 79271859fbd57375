"""A worker of a large team writes less, but all of its end."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_health_plugin.events import columns
from tb_health_plugin.events.sample_file import SampleShape
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.writing import scribe
from tb_health_plugin.writing.black_box import BlackBox, make_file
from tb_health_plugin.writing.scribe import LAST_SAMPLES, Scribe
from tb_health_plugin.writing.terms import Terms
from tb_health_plugin.writing.thinning import (
    MOST_BYTES_PER_HOUR,
    fitting_each,
    written_each,
)


@pytest.mark.parametrize(
    ("workers", "apart"), [(1, 1), (2, 1), (16, 1), (64, 4), (1_000, 60), (9_999, 60)]
)
def test_how_many_are_written(workers: int, apart: int):
    assert written_each(workers) == apart


@pytest.mark.parametrize(("gpus", "apart"), [(0, 1), (1, 1), (2, 1), (8, 3), (16, 4)])
def test_many_gpus_stay_small_on_disk(gpus: int, apart: int):
    plain = (*columns.PROGRESS, *columns.RESOURCES)
    count = len((*plain, *columns.GPUS[: gpus * len(columns.gpu_columns(0))]))

    assert fitting_each(count) == apart
    hour = SampleShape(count).record_bytes * 3_600 / apart
    assert hour <= MOST_BYTES_PER_HOUR


def record(folder: Path, ticks: int, *, apart: int, closed: bool = True) -> Attempt:
    """What a reader finds after so many samples."""
    directory = folder / "attempt"
    directory.mkdir()
    terms = Terms(
        pid=os.getpid(),
        logdir=str(folder),
        directory=str(directory),
        period_seconds=1.0,
        start={"wall_time": 1.0},
        written_each=apart,
    )
    writer = Scribe(BlackBox(make_file()), terms, recorded_by="thread")
    for _ in range(ticks):
        writer.tick()
    if closed:
        writer.close()
    reader = AttemptReader(directory)
    reader.refresh()
    return reader.attempt


def numbers(attempt: Attempt) -> list[float]:
    return attempt.samples.column("sample").tolist()


def test_a_small_team_writes_everything(tmp_path: Path):
    assert numbers(record(tmp_path, 5, apart=1)) == [0, 1, 2, 3, 4]


def test_a_large_team_writes_some(tmp_path: Path):
    found = record(tmp_path, 10, apart=4, closed=False)

    assert numbers(found) == [0, 4, 8]
    assert found.period_seconds == 4.0


def test_the_end_is_written_in_full_and_in_order(tmp_path: Path):
    assert numbers(record(tmp_path, 12, apart=5)) == [0, 5, 10, 11]


def test_what_a_gpu_tells_rarely_is_not_lost(tmp_path: Path, monkeypatch):
    """A number of every tenth sample is written with the next one, an event at once."""
    read = iter(
        [
            {"gpu0_power_watts": 1.0, "gpu0_fan_fraction": 0.5},
            {"gpu0_power_watts": 2.0, "gpu0_pcie_replays": 7.0},
            {"gpu0_power_watts": 3.0},
            {"gpu0_power_watts": 4.0},
            {"gpu0_power_watts": 5.0, "gpu0_xid": 79.0},
            {"gpu0_power_watts": 6.0},
        ]
    )
    names = ("power_watts", "fan_fraction", "pcie_replays", "xid")
    schedule = SimpleNamespace(
        columns=tuple(f"gpu0_{name}" for name in names), sample=lambda: next(read)
    )
    monkeypatch.setattr(scribe, "Schedule", lambda *_, **__: schedule)

    found = record(tmp_path, 6, apart=3, closed=False).samples

    assert found.column("gpu0_power_watts").tolist() == [1.0, 4.0, 5.0]
    assert found.column("gpu0_pcie_replays")[1] == 7.0
    assert found.column("gpu0_xid")[2] == 79.0


def test_no_more_than_the_last_ones_are_kept(tmp_path: Path):
    found = numbers(record(tmp_path, 101, apart=100_000))

    assert found == [0, *range(101 - LAST_SAMPLES, 101)]
