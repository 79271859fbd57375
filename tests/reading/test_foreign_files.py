"""Files that somebody else made: none outside is read, none costs too much."""

import os
from pathlib import Path

import pytest

from tb_health_plugin.events import facts, tail
from tb_health_plugin.events.framing import frame
from tb_health_plugin.events.sample_file import MOST_COLUMNS, SampleFile
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root, find_runs
from tb_health_plugin.reading.record_reader import RecordReader
from tb_health_plugin.reading.rule_files import LONGEST_FILE_BYTES, read_wishes
from tb_health_plugin.reading.sample_reader import SampleReader
from tb_health_plugin.reading.table import Table

SECRET = facts.Incident(wall_time=1.0, kind="secret", message="from outside")


class TestLinks:
    @pytest.fixture
    def outside(self, tmp_path: Path, write_attempt) -> Path:
        directory = write_attempt("elsewhere", told=[SECRET])
        return Path(directory.rename(tmp_path / "outside"))

    @pytest.fixture
    def health(self, logs: Path) -> Path:
        health = logs / "run/plugins/health"
        health.mkdir(parents=True)
        return health

    def test_a_file_of_ours_that_is_a_link_is_told_and_not_read(
        self, outside: Path, health: Path
    ):
        (health / "a1").mkdir()
        link = health / "a1/records.000.tfrecord"
        link.symlink_to(outside / link.name)
        reader = AttemptReader(health / "a1")

        reader.refresh()

        assert list(reader.attempt.all(facts.Incident)) == []
        (problem,) = reader.problems
        assert problem.file == link
        assert problem.message.startswith("is a link")

    def test_an_attempt_that_is_a_link_is_none(
        self, outside: Path, health: Path, logs: Path
    ):
        (health / "a1").symlink_to(outside)

        assert [run for run in find_runs(Root(logs)) if run.attempts] == []

    def test_a_health_directory_that_is_a_link_is_none(
        self, outside: Path, health: Path, logs: Path
    ):
        health.rmdir()
        health.symlink_to(outside.parent)

        assert [run for run in find_runs(Root(logs)) if run.attempts] == []


class TestRuleFiles:
    def said(self, path: Path) -> str:
        wishes = read_wishes([path])
        assert wishes.rules == {}
        (problem,) = wishes.problems
        return problem.message

    def test_a_link_is_not_followed_and_what_it_leads_to_is_not_told(
        self, tmp_path: Path
    ):
        (tmp_path / "private").write_text('["hunter2"]')
        link = tmp_path / "health_rules.json"
        link.symlink_to(tmp_path / "private")

        assert self.said(link) == "is not used: it is a link; put the file itself there"

    def test_nobody_waits_for_a_pipe(self, tmp_path: Path):
        os.mkfifo(tmp_path / "health_rules.json")

        assert "no plain file" in self.said(tmp_path / "health_rules.json")

    def test_a_long_one_is_not_read(self, tmp_path: Path):
        path = tmp_path / "health_rules.json"
        path.write_text(" " * (LONGEST_FILE_BYTES + 1))

        assert "longer than" in self.said(path)

    def test_a_deep_one_costs_itself_alone(self, tmp_path: Path):
        path = tmp_path / "health_rules.json"
        path.write_text("[" * (LONGEST_FILE_BYTES // 2))

        assert "nested too deeply" in self.said(path)

    def test_a_log_directory_full_of_such_files_is_still_read(
        self, logs: Path, write_attempt
    ):
        write_attempt("run", told=[SECRET])
        os.mkfifo(logs / "health_rules.json")
        library = Library([Root(logs)])

        library.refresh()

        (run,) = library.runs()
        assert len(run.problems) == 1


class TestBounds:
    def test_a_file_that_is_mostly_damage_is_given_up(
        self, tmp_path: Path, monkeypatch
    ):
        monkeypatch.setattr(tail, "MOST_DAMAGED_BYTES", 1_000)
        monkeypatch.setattr(tail, "CHUNK_BYTES", 512)
        path = tmp_path / "records.000.tfrecord"
        path.write_bytes(b"\xff" * 5_000)
        reader = RecordReader(path)

        assert list(reader.read()) == []

        assert reader.problem == "too much of it is damaged; the rest is not read"

    def test_a_file_larger_than_any_of_ours_is_read_up_to_a_bound(
        self, tmp_path: Path, monkeypatch
    ):
        monkeypatch.setattr(tail, "MOST_BYTES", 2_000)
        monkeypatch.setattr(tail, "CHUNK_BYTES", 512)
        path = tmp_path / "records.000.tfrecord"
        path.write_bytes(b"".join(frame(b"%d" % n) for n in range(1_000)))
        reader = RecordReader(path)

        assert list(reader.read()) == []

        assert reader.problem.startswith("it is too large")
        assert reader.damaged < 150

    def test_more_columns_than_anybody_records_are_damage(self, tmp_path: Path):
        path = tmp_path / "samples.000.tfrecord"
        names = [f"c{number}" for number in range(MOST_COLUMNS + 1)]
        SampleFile(path, names, period_seconds=1.0, now=1.0).close()
        reader, table = SampleReader(path), Table()

        reader.read_into(table)

        assert (len(table), reader.damaged) == (0, 1)

    def test_samples_are_found_between_any_damage(self, tmp_path: Path):
        path = tmp_path / "samples.000.tfrecord"
        file = SampleFile(path, ("step",), period_seconds=1.0, now=1.0)
        begin = path.stat().st_size
        for step in range(100):
            file.append(1.0 + step, [float(step)])
        file.close()
        data = bytearray(path.read_bytes())
        size = (len(data) - begin) // 100
        for number in range(0, 100, 3):
            data[begin + number * size + 20] ^= 0xFF
        path.write_bytes(bytes(data))
        reader, table = SampleReader(path), Table()

        reader.read_into(table)

        whole = [float(step) for step in range(100) if step % 3]
        assert table.column("step").tolist() == whole
        assert reader.damaged == 34
