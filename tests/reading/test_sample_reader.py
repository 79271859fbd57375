"""A file of samples as columns, however it was damaged."""

import math
from pathlib import Path

import pytest

from tb_health_plugin.events import tags
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.events.sample_file import SampleFile, SampleShape
from tb_health_plugin.reading.sample_reader import SampleReader
from tb_health_plugin.reading.table import TIME, Table, measured

RECORD = SampleShape(2).record_bytes
COUNT = 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "samples.000.tfrecord"
    file = SampleFile(path, ["step", "loss"], period_seconds=0.5, now=1.0)
    for index in range(COUNT):
        file.append(100.0 + index, [index, index / 10])
    file.close()
    return path


def steps(path: Path) -> tuple[list[float], int]:
    reader, table = SampleReader(path), Table()
    reader.read_into(table)
    return table.column("step").tolist(), reader.damaged


def test_all_columns_and_the_time_are_read(path: Path):
    reader, table = SampleReader(path), Table()

    reader.read_into(table)

    assert table.column(TIME).tolist() == [100.0, 101.0, 102.0, 103.0, 104.0]
    assert table.column("step").tolist() == [0, 1, 2, 3, 4]
    assert table.column("loss").tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert reader.period_seconds == 0.5


@pytest.mark.parametrize("cut", range(1, RECORD + 1))
def test_a_last_sample_cut_at_any_byte_is_read_when_it_is_whole(path: Path, cut: int):
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    reader, table = SampleReader(path), Table()

    reader.read_into(table)

    assert table.column("step").tolist() == [0, 1, 2, 3]
    path.write_bytes(whole)
    reader.read_into(table)
    assert table.column("step").tolist() == [0, 1, 2, 3, 4]
    assert reader.damaged == 0


@pytest.mark.parametrize("offset", range(RECORD))
def test_a_wrong_byte_costs_one_sample(path: Path, offset: int):
    data = bytearray(path.read_bytes())
    data[len(data) - 3 * RECORD + offset] ^= 0xFF
    path.write_bytes(data)

    assert steps(path) == ([0, 1, 3, 4], 1)


@pytest.mark.parametrize("position", [40, 80])
def test_a_damaged_head_leaves_nothing_to_name_the_numbers_by(
    path: Path, position: int
):
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)

    found, damaged = steps(path)
    assert found == []
    assert damaged == 1


def test_a_file_of_a_later_format_is_left_alone(tmp_path: Path, monkeypatch):
    path = tmp_path / "samples.000.tfrecord"
    monkeypatch.setattr(tags, "FORMAT_VERSION", tags.FORMAT_VERSION + 1)
    SampleFile(path, ["step"], period_seconds=1.0, now=1.0).close()
    monkeypatch.undo()
    reader, table = SampleReader(path), Table()

    reader.read_into(table)

    assert reader.newer
    assert len(table) == 0


class TestTable:
    def test_a_measured_nan_is_not_a_missing_number(self):
        table = Table()
        table.append({TIME: [1.0, 2.0], "loss": [math.nan, NOT_MEASURED]})

        assert table.has("loss")

    def test_a_column_of_nothing_is_as_good_as_none(self):
        table = Table()
        table.append({TIME: [1.0], "loss": [NOT_MEASURED]})

        assert not table.has("loss")
        assert not table.has("other")

    def test_a_count_that_cannot_be_is_not_measured(self):
        table = Table()
        absurd = [math.inf, -math.inf, math.nan, 1e308, 7.0]
        table.append({TIME: [1.0] * 5, "step": absurd, "loss": absurd})

        assert measured(table.column("step")).tolist() == [False] * 4 + [True]
        assert measured(table.column("loss")).all()

    def test_a_column_that_joins_late_is_not_measured_before(self):
        table = Table()
        table.append({TIME: [1.0]})
        table.append({TIME: [2.0], "loss": [0.5]})

        assert math.isnan(table.column("loss")[0])
        assert table.column("loss")[1] == 0.5

    def test_it_grows_without_losing_a_row(self):
        table = Table()
        for index in range(1_000):
            table.append({TIME: [float(index)], "step": [index]})

        assert table.column("step").tolist() == list(range(1_000))
