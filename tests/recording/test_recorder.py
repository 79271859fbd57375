"""The recorder writes what it is given, and breaks nothing when it cannot."""

import errno
import logging
import os
import time
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import event_file, facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.recording.recorder import Recorder
from tb_health_plugin.writing import scribe

PERIOD = 0.02


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return new_attempt_directory(tmp_path)


@pytest.fixture
def recorder(tmp_path: Path, directory: Path):
    """Without a watcher: a thread of this process writes."""
    made = Recorder(tmp_path, directory, period_seconds=PERIOD, watcher=False)
    wait_until(lambda: read(directory).start)
    yield made
    made.close(ended())


def ended(reason: str = "finished") -> facts.RunEnded:
    return facts.RunEnded(wall_time=time.time(), reason=reason)


def incident(message: str) -> facts.Incident:
    return facts.Incident(wall_time=time.time(), message=message)


def read(directory: Path) -> Attempt:
    reader = AttemptReader(directory)
    reader.refresh()
    return reader.attempt


def messages(directory: Path) -> list[str | None]:
    return [fact.message for fact in read(directory).all(facts.Incident)]


def test_the_start_is_written_before_anything_else(directory: Path, recorder):
    start = read(directory).start

    assert start.pid == os.getpid()
    assert start.recorded_by == "thread"
    assert "python" in start.settings


def test_facts_are_written_in_order(directory: Path, recorder: Recorder):
    for number in range(100):
        recorder.record(incident(str(number)))
    recorder.close(ended())

    assert messages(directory) == [str(number) for number in range(100)]


def test_samples_carry_the_progress(directory: Path, recorder: Recorder):
    recorder.progress.step = 7
    recorder.progress.loss = 0.5
    recorder.publish()
    recorder.close(ended())

    samples = read(directory).samples
    assert samples.column("step")[-1] == 7
    assert samples.column("loss")[-1] == 0.5
    assert samples.column("process_rss_bytes")[-1] > 1 << 20


def test_the_end_is_the_last_fact(directory: Path, recorder: Recorder):
    recorder.close(ended("exception"))
    recorder.record(incident("too late"))
    recorder.close(ended("finished"))

    attempt = read(directory)
    assert [fact.reason for fact in attempt.all(facts.RunEnded)] == ["exception"]
    assert messages(directory) == []


def test_what_a_thread_cannot_know_is_said(directory: Path, recorder: Recorder):
    missing = [one.what for one in read(directory).start.not_recorded]

    assert "how the process ended, if it was killed" in missing


class TestADiskThatFails:
    @pytest.fixture(autouse=True)
    def soon_again(self, monkeypatch):
        monkeypatch.setattr(scribe, "RETRY_SECONDS", 0.1)

    def full(self, monkeypatch, directory: Path) -> None:
        write = os.write

        def no_space(fd: int, data: bytes) -> int:
            # Recorders of other tests may still write, and are none of this one's.
            if directory in Path(f"/proc/self/fd/{fd}").readlink().parents:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(fd, data)

        monkeypatch.setattr(event_file.os, "write", no_space)

    def test_it_is_said_once_and_the_gap_becomes_a_fact(
        self, directory: Path, recorder: Recorder, monkeypatch, caplog
    ):
        with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
            self.full(broken, directory)
            recorder.record(incident("kept"))
            wait_until(lambda: caplog.records)
        wait_until(lambda: read(directory).all(facts.RecordingStopped))
        recorder.close(ended())

        assert len(caplog.records) == 1
        assert "The training goes on" in caplog.text
        (gap,) = read(directory).all(facts.RecordingStopped)
        assert "No space left" in gap.why
        assert gap.resumed
        assert gap.began_at <= gap.wall_time

    def test_facts_of_that_time_are_written_later(
        self, directory: Path, recorder: Recorder, monkeypatch, caplog
    ):
        with monkeypatch.context() as broken:
            self.full(broken, directory)
            recorder.record(incident("kept"))
            wait_until(lambda: caplog.records)
        wait_until(lambda: messages(directory) == ["kept"])

    def test_a_clock_that_is_set_back_delays_nothing(
        self, directory: Path, recorder: Recorder, monkeypatch, caplog
    ):
        with monkeypatch.context() as broken:
            self.full(broken, directory)
            recorder.record(incident("kept"))
            wait_until(lambda: caplog.records)
            a_day_ago = time.time() - 86_400
            monkeypatch.setattr(scribe.time, "time", lambda: a_day_ago)
        wait_until(lambda: messages(directory) == ["kept"])

    def test_a_directory_that_was_removed_is_made_again(
        self, directory: Path, recorder: Recorder
    ):
        import shutil

        shutil.rmtree(directory.parent)
        wait_until(lambda: read(directory).start)

        recorder.record(incident("after"))
        wait_until(lambda: messages(directory) == ["after"])


def test_a_forked_child_writes_nothing(directory: Path, recorder: Recorder):
    child = os.fork()
    if not child:
        recorder.record(incident("from the child"))
        recorder.close(ended("child"))
        os._exit(0)
    os.waitpid(child, 0)
    recorder.close(ended())

    assert messages(directory) == []
    assert read(directory).last(facts.RunEnded).reason == "finished"


def test_facts_for_which_there_is_no_room_are_counted(
    directory: Path, recorder: Recorder, monkeypatch
):
    with monkeypatch.context() as busy:
        busy.setattr(scribe.Scribe, "tick", lambda self, **_: None)
        for _ in range(30):
            recorder.record(incident("x" * 50_000))
    wait_until(lambda: read(directory).all(facts.RecordingStopped))

    (gap,) = read(directory).all(facts.RecordingStopped)
    assert gap.what.endswith(" facts")
    assert "more came at once" in gap.why


def test_a_model_of_very_many_layers_is_told_as_far_as_it_goes(
    directory: Path, recorder: Recorder
):
    layers = tuple(facts.Layer(name=f"layer_{n}", kind="Dense") for n in range(10_000))
    begun = facts.TrainingStarted(wall_time=time.time(), training=0, layers=layers)
    recorder.record(begun)
    wait_until(lambda: read(directory).all(facts.RecordingStopped))

    (told,) = read(directory).all(facts.TrainingStarted)
    assert len(told.layers) == 2_000
    (gap,) = read(directory).all(facts.RecordingStopped)
    assert gap.what == "layers and variables after the first 2,000"
