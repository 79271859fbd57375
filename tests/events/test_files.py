"""Writing files and following them as they grow, break and vanish."""

import errno
import itertools
import os
from pathlib import Path

import pytest
from tensorboard.compat.proto.event_pb2 import Event

from tb_health_plugin.events import facts, tail
from tb_health_plugin.events.attempt import FileName, new_attempt_directory
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile, SampleShape
from tb_health_plugin.events.tail import Tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.000.tfrecord"


def incident(message: str) -> facts.Incident:
    return facts.Incident(wall_time=1.0, message=message)


class TestEventFile:
    def test_tensorboards_loader_reads_it(self, path: Path):
        from tensorboard.backend.event_processing import event_file_loader

        file = EventFile(path, now=1.0)
        file.append_fact(incident("hello"), sync=True)
        file.close()

        events = list(event_file_loader.EventFileLoader(str(path)).Load())
        assert events[0].file_version == "brain.Event:2"
        assert events[1].summary.value[0].tag == "health/incident"

    def test_what_is_appended_is_with_the_system_at_once(self, path: Path):
        file = EventFile(path, now=1.0)
        before = path.stat().st_size

        file.append_fact(incident("hello"))

        assert path.stat().st_size > before
        file.close()

    def test_a_second_writer_is_refused(self, path: Path):
        EventFile(path, now=1.0).close()

        with pytest.raises(FileExistsError):
            EventFile(path, now=1.0)

    def test_a_half_written_record_is_taken_back(self, path: Path, monkeypatch):
        file = EventFile(path, now=1.0)
        file.append_fact(incident("kept"))
        size = path.stat().st_size
        real_write = os.write

        def fills_up(fd: int, data: bytes) -> int:
            if len(data) > 10:
                return real_write(fd, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", fills_up)
        with pytest.raises(OSError, match="No space left"):
            file.append_fact(incident("x" * 5))

        assert path.stat().st_size == size
        file.close()

    def test_a_time_that_is_none_is_refused(self, path: Path):
        file = EventFile(path, now=1.0)

        with pytest.raises(ValueError, match="wall_time=nan"):
            file.append_fact(facts.Incident(wall_time=float("nan")))
        file.close()


class TestSampleFile:
    def test_every_sample_has_the_same_length(self, tmp_path: Path):
        file = SampleFile(tmp_path / "s", ["step", "loss"], period_seconds=1.0, now=1.0)
        sizes = [(tmp_path / "s").stat().st_size]
        for values in ([0, 0], [1e300, float("nan")], [2**53, float("-inf")]):
            file.append(1e9, values)
            sizes.append((tmp_path / "s").stat().st_size)
        file.close()

        growth = {b - a for a, b in itertools.pairwise(sizes)}
        assert growth == {SampleShape(2).record_bytes}

    def test_an_hour_at_one_per_second_is_under_a_megabyte(self):
        assert SampleShape(30).record_bytes * 3_600 < 1_100_000

    def test_it_is_an_ordinary_event(self):
        event = Event.FromString(SampleShape(2).encode(12.5, [3.0, 4.0]))

        assert event.wall_time == 12.5
        assert event.summary.value[0].tag == "health/samples"


class TestTail:
    def write(self, path: Path, *messages: str) -> bytes:
        path.unlink(missing_ok=True)
        file = EventFile(path, now=1.0)
        for message in messages:
            file.append_fact(incident(message))
        file.close()
        return path.read_bytes()

    def count(self, follower: Tail) -> int:
        return len(list(follower.records()))

    def test_reading_goes_on_when_a_cut_tail_grows(self, path: Path):
        """At every byte of the last record, as a reader may see a writer at work."""
        whole = self.write(path, "first", "second")
        last = len(whole) - len(self.write(path, "first"))
        for cut in range(1, last + 1):
            path.write_bytes(whole[:-cut])
            follower = Tail(path)

            assert self.count(follower) == 2
            path.write_bytes(whole)
            assert self.count(follower) == 1
            assert follower.scan.damaged == 0

    def test_only_new_bytes_are_read(self, path: Path):
        whole = self.write(path, "first")
        follower = Tail(path)
        self.count(follower)

        assert follower.offset == len(whole)
        assert self.count(follower) == 0

    def test_an_empty_file_has_nothing_yet(self, path: Path):
        path.touch()
        follower = Tail(path)

        assert self.count(follower) == 0
        self.write(path, "first")
        assert self.count(follower) == 2

    def test_a_vanished_file_is_told_and_read_again_when_it_returns(self, path: Path):
        whole = self.write(path, "first")
        follower = Tail(path)
        self.count(follower)
        path.unlink()

        assert self.count(follower) == 0
        assert "No such file" in follower.problem
        path.write_bytes(whole)
        assert self.count(follower) == 0
        assert follower.problem == ""

    def test_a_file_that_shrank_is_begun_anew(self, path: Path):
        self.write(path, "first", "second")
        follower = Tail(path)
        self.count(follower)
        self.write(path, "other")

        assert self.count(follower) == 2
        assert follower.restarts == 1

    def test_a_record_longer_than_a_chunk_is_still_read(self, path: Path, monkeypatch):
        monkeypatch.setattr(tail, "CHUNK_BYTES", 64)
        self.write(path, "x" * 5_000, "y")

        assert self.count(Tail(path)) == 3


class TestAttemptDirectory:
    def test_it_lies_where_tensorboard_keeps_data_of_plugins(self, tmp_path: Path):
        directory = new_attempt_directory(tmp_path / "run", now=0.0)

        assert directory.parent == tmp_path / "run/plugins/health"
        assert directory.name.startswith("19700101-000000-")
        assert f"-{os.getpid()}-" in directory.name

    def test_two_attempts_of_one_moment_do_not_share_it(self, tmp_path: Path):
        first = new_attempt_directory(tmp_path, now=0.0)

        assert new_attempt_directory(tmp_path, now=0.0) != first

    def test_a_log_directory_that_is_a_file_is_named(self, tmp_path: Path):
        (tmp_path / "file").touch()

        with pytest.raises(ValueError, match="/file' is a file"):
            new_attempt_directory(tmp_path / "file")

    def test_one_that_cannot_be_written_to_is_named(self, tmp_path: Path, monkeypatch):
        def denied(self: Path, **_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", denied)

        with pytest.raises(ValueError, match="cannot be written to: Permission denied"):
            new_attempt_directory(tmp_path)

    def test_no_name_of_ours_is_one_that_tensorboard_reads(self, tmp_path: Path):
        from tensorboard.backend.event_processing import io_wrapper

        for kind in ("records", "samples"):
            path = str(tmp_path / str(FileName(kind, 0)))
            assert not io_wrapper.IsTensorFlowEventsFile(path)

    @pytest.mark.parametrize(
        "name", ["records.1.tfrecord", "records.tfrecord", "other.000.tfrecord", "x"]
    )
    def test_other_names_are_not_ours(self, name: str):
        assert FileName.parse(name) is None

    def test_a_name_is_read_as_it_was_written(self):
        assert FileName.parse("samples.1234.tfrecord") == FileName("samples", 1234)
