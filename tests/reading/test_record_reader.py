"""A file of facts, as it grows and after it was damaged."""

from pathlib import Path

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading.record_reader import RecordReader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "records.000.tfrecord"
    file = EventFile(path, now=1.0)
    for number in range(3):
        file.append_fact(facts.Saved(wall_time=2.0 + number, step=number, ok=False))
    file.close()
    return path


def steps(path: Path) -> list[int]:
    return [fact.step for fact in RecordReader(path).read()]


def test_facts_come_in_order(path: Path):
    assert steps(path) == [0, 1, 2]


def test_a_fact_that_a_disk_wrote_twice_counts_once(path: Path):
    path.write_bytes(path.read_bytes() * 2)

    assert steps(path) == [0, 1, 2]


def test_facts_that_differ_in_time_alone_are_two(tmp_path: Path):
    path = tmp_path / "records.000.tfrecord"
    file = EventFile(path, now=1.0)
    file.append_fact(facts.Saved(wall_time=2.0, step=5, ok=True))
    file.append_fact(facts.Saved(wall_time=2.5, step=5, ok=True))
    file.close()

    assert steps(path) == [5, 5]


def test_a_file_that_became_shorter_is_not_told_again(path: Path):
    reader = RecordReader(path)
    assert len(list(reader.read())) == 3

    path.write_bytes(path.read_bytes()[:-10])

    assert list(reader.read()) == []
