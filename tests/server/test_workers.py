"""The cells of the heat map of workers."""

from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.errors import NotFound, RequestError
from tb_health_plugin.server.view import View
from tb_health_plugin.server.workers import MOST_ROWS, worker_cells
from tests.conftest import WriteAttempt, worker_settings

MIB = float(1 << 20)


@pytest.fixture
def write(write_attempt: WriteAttempt):
    """Two steps a second for `seconds`, then nothing until `until`."""

    def one(rank: int, size: int = 2, seconds: int = 40, until: int = 40) -> None:
        settings = worker_settings(rank, size)
        write_attempt(
            id=f"a{rank:04d}",
            told=[
                facts.RunStarted(wall_time=100.0, boot_id="b", settings=settings),
                facts.TrainingStarted(wall_time=100.0, training=0),
            ],
            samples=[
                (
                    100.0 + second,
                    {
                        "step": 2.0 * min(second, seconds),
                        "data_waited_seconds": 0.25 * min(second, seconds),
                        "process_rss_bytes": (100 + second) * MIB,
                    },
                )
                for second in range(until + 1)
            ],
        )

    return one


def cells(logs: Path, quantity: str = "step_seconds", buckets: int = 4):
    view = View(Library([Root(logs)]), clock=lambda: 10_000.0)
    view.refresh()
    return worker_cells(view, "run", quantity, buckets=buckets)


def test_seconds_per_step(logs: Path, write):
    write(0)
    write(1)

    found = cells(logs)

    assert [row["name"] for row in found["rows"]] == ["worker 0", "worker 1"]
    assert found["time"] == [105.0, 115.0, 125.0, 135.0]
    assert found["rows"][0]["values"] == pytest.approx([0.5] * 4)


def test_a_worker_that_stands_still_gets_hotter(logs: Path, write):
    write(0)
    write(1, seconds=10)

    stands = cells(logs)["rows"][1]["values"]

    assert stands[0] == pytest.approx(0.5)
    assert stands[1:] == pytest.approx([10.0, 20.0, 30.0])


def test_a_worker_that_is_gone_has_no_numbers(logs: Path, write):
    write(0)
    write(1, seconds=20, until=20)

    values = cells(logs)["rows"][1]["values"]

    assert values[:2] == pytest.approx([0.5, 0.5])
    assert values[2:] == [None, None]


def test_no_cell_is_shorter_than_two_samples(logs: Path, write):
    write(0)
    write(1)

    found = cells(logs, buckets=120)

    assert len(found["time"]) == 20
    assert found["rows"][0]["values"] == pytest.approx([0.5] * 20)


def test_waiting_for_data(logs: Path, write):
    write(0)
    write(1)

    assert cells(logs, "data_wait")["rows"][0]["values"] == pytest.approx([0.25] * 4)


def test_the_most_memory_of_a_stretch(logs: Path, write):
    write(0)
    write(1)

    values = np.asarray(cells(logs, "memory")["rows"][0]["values"]) / MIB

    assert values == pytest.approx([109, 119, 129, 139])


def test_many_workers_share_rows_and_the_worst_counts(logs: Path, write):
    for rank in range(2 * MOST_ROWS):
        write(rank, size=2 * MOST_ROWS, seconds=5 if rank == 7 else 8, until=8)

    rows = cells(logs, buckets=2)["rows"]

    assert len(rows) == MOST_ROWS
    assert (rows[3]["name"], rows[3]["workers"]) == ("worker 6 to worker 7", 2)
    assert rows[3]["values"][1] > rows[2]["values"][1]


def test_one_alone_has_no_heat_map(logs: Path, write_attempt: WriteAttempt):
    write_attempt(told=[facts.RunStarted(wall_time=1.0)])

    with pytest.raises(NotFound, match="several workers"):
        cells(logs)


@pytest.mark.parametrize(("quantity", "buckets"), [("heat", 4), ("memory", 0)])
def test_what_is_asked_wrongly_is_said(logs: Path, write, quantity: str, buckets: int):
    write(0)
    write(1)

    with pytest.raises(RequestError, match="expected"):
        cells(logs, quantity, buckets)
