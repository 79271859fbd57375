"""Log directories on object stores, read bit by bit through TensorBoard's layer."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tb_health_plugin.cli.main import PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.diagnosing import diagnose
from tb_health_plugin.events import facts
from tb_health_plugin.events.rule_choices import RULES_FILE
from tb_health_plugin.reading import remote_directory, stores
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.log_directory import STORE_LATE_SECONDS, parse_roots
from tb_health_plugin.reading.remote_directory import (
    LEAST_SECONDS_BETWEEN_LOOKS,
    RemoteDirectory,
)
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.recording.attempts import attempt_for
from tb_health_plugin.server.answers import run_list
from tb_health_plugin.server.view import View
from tests import runs
from tests.reading.s3_server import S3Server

ADDRESS = "s3://training/logs"
RECORDS = "plugins/health/recorded/records.000.tfrecord"
SAMPLES = "plugins/health/recorded/samples.000.tfrecord"
OURS = [RECORDS, SAMPLES]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """One for all tests; each has a bucket directory of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server = S3Server()
        patch.setenv("AWS_ENDPOINT_URL", server.url)
        yield server
        server.close()


@pytest.fixture
def logs(tmp_path: Path, s3: S3Server) -> Path:
    """A run that has just begun: half of what it will write."""
    logs = tmp_path / "logs"
    shutil.copytree(runs.HERE / "native_crash", logs / "crashed")
    s3.empty()
    return logs


def cut(file: Path, share: float) -> bytes:
    """Leaves only the beginning of a file; returns all of it."""
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    return whole


def copies(directory: RemoteDirectory) -> dict[str, bytes]:
    return {
        path.relative_to(directory.path).as_posix(): path.read_bytes()
        for path in directory.path.rglob("*")
        if path.is_file()
    }


def look(directory: RemoteDirectory, clock: Clock) -> None:
    clock.after(LEAST_SECONDS_BETWEEN_LOOKS)
    directory.refresh()


class TestRequests:
    """What a look costs; docs/workers.md states it."""

    def test_the_first_look_lists_once_and_asks_for_each_file_of_ours(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        (logs / "crashed/events.out.tfevents.1.host").write_bytes(b"x" * 10_000)
        (logs / "crashed/model.keras").write_bytes(b"x" * 10_000)
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)

        with s3.counted() as asked:
            directory.refresh()

        assert directory.problem == ""
        assert asked == {"LIST": 1, "HEAD": 2, "GET": 2}
        ours = sum((logs / "crashed" / name).stat().st_size for name in OURS)
        assert s3.sent == ours

    def test_a_file_that_grew_costs_its_new_bytes(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        samples = logs / "crashed" / SAMPLES
        whole = cut(samples, 0.5)
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()
        begun = samples.stat().st_size
        samples.write_bytes(whole)
        s3.put(logs)

        with s3.counted() as asked:
            look(directory, clock)

        assert asked == {"LIST": 1, "HEAD": 2, "GET": 1}
        assert s3.sent == len(whole) - begun
        assert copies(directory)[f"crashed/{SAMPLES}"] == whole

    def test_a_file_that_is_silent_is_asked_for_less_and_less(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()

        with s3.counted() as asked:
            for _ in range(20):
                clock.after(60.0)
                directory.refresh()

        # After 1, 2, 4, 8 and 16 minutes of silence, each of the two files.
        assert asked == {"LIST": 20, "HEAD": 2 * 5}

    def test_looks_in_quick_succession_are_one(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()

        with s3.counted() as asked:
            clock.after(1.0)
            directory.refresh()

        assert not asked


class TestCopy:
    def test_a_run_that_comes_later_and_one_that_goes(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()
        shutil.copytree(runs.HERE / "healthy", logs / "healthy")
        s3.put(logs)
        for name in OURS:
            s3.delete(f"crashed/{name}")

        look(directory, clock)

        assert sorted(copies(directory)) == [f"healthy/{name}" for name in OURS]
        assert not (directory.path / "crashed").exists()

    def test_a_file_that_became_shorter_is_read_anew(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()
        samples = logs / "crashed" / SAMPLES
        cut(samples, 0.4)
        s3.put(logs)

        look(directory, clock)

        assert copies(directory)[f"crashed/{SAMPLES}"] == samples.read_bytes()

    def test_long_files_come_in_pieces(
        self, s3: S3Server, logs: Path, clock: Clock, monkeypatch
    ):
        monkeypatch.setattr(stores, "CHUNK_BYTES", 1_000)
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)

        directory.refresh()

        whole = {f"crashed/{n}": (logs / "crashed" / n).read_bytes() for n in OURS}
        assert copies(directory) == whole

    def test_wishes_for_the_rules_are_read_anew(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        (logs / RULES_FILE).write_text('{"overfitting": "off"}')
        s3.put(logs)
        directory = RemoteDirectory(ADDRESS, clock)
        directory.refresh()
        (logs / RULES_FILE).write_text('{"overfitting": "on"} ')
        s3.put(logs)

        clock.after(remote_directory.WISHES_EACH_SECONDS)
        directory.refresh()

        assert json.loads(copies(directory)[RULES_FILE]) == {"overfitting": "on"}

    def test_a_name_that_leads_elsewhere_is_left_alone(
        self, s3: S3Server, logs: Path, clock: Clock
    ):
        key = f"logs/../../evil/{RECORDS}"
        s3.client.put_object(Bucket="training", Key=key, Body=b"x")
        directory = RemoteDirectory(ADDRESS, clock)

        directory.refresh()

        assert copies(directory) == {}

    def test_it_goes_away_with_its_owner(self, clock: Clock):
        directory = RemoteDirectory(ADDRESS, clock)
        path = directory.path

        del directory

        assert not path.exists()


class TestReaders:
    def test_the_verdict_is_that_of_the_same_files_here(self, s3: S3Server, logs: Path):
        s3.put(logs)

        assert diagnose(ADDRESS) == diagnose(logs)

    def test_the_tab_follows_a_run(
        self, s3: S3Server, logs: Path, clock: Clock, monkeypatch
    ):
        monkeypatch.setattr(remote_directory, "LEAST_SECONDS_BETWEEN_LOOKS", 0.0)
        whole = cut(logs / "crashed" / RECORDS, 0.5)
        s3.put(logs)
        (root,) = parse_roots(ADDRESS, "")
        view = View(Library([root]))
        view.refresh()
        before = run_list(view)
        (logs / "crashed" / RECORDS).write_bytes(whole)
        s3.put(logs)

        view.refresh()

        after = run_list(view)
        assert after["logdirs"] == [ADDRESS]
        assert after["reading"]["problems"] == []
        assert before["runs"][0]["headline"] != after["runs"][0]["headline"]
        assert after["runs"][0]["headline"] == diagnose(logs)["headline"]

    def test_names_and_places_of_several_log_directories(self):
        roots = parse_roots("", f"a:{ADDRESS},gs://b/x,c:/here")

        told = [(root.name, root.shown) for root in roots]
        assert told == [("a", ADDRESS), ("", "gs://b/x"), ("c", "/here")]

    @pytest.mark.parametrize("command", ["why", "report"])
    def test_commands(self, s3: S3Server, logs: Path, command: str, capsys):
        s3.put(logs)

        assert main([command, ADDRESS]) == PROBLEM_FOUND
        assert "native_crash" in capsys.readouterr().out

    def test_nothing_there(self, s3: S3Server, capsys):
        s3.empty()

        assert main(["why", ADDRESS]) == USAGE_ERROR
        assert f"{ADDRESS} does not exist, or is empty" in capsys.readouterr().err

    def test_a_bucket_that_is_not_there(self, s3: S3Server, capsys):
        assert main(["why", "s3://nowhere/logs"]) == USAGE_ERROR
        said = capsys.readouterr().err
        assert "s3://nowhere/logs cannot be read: " in said
        assert "NoSuchBucket" in said

    def test_prune_removes_nothing_there(self, s3: S3Server, capsys):
        assert main(["prune", ADDRESS]) == USAGE_ERROR
        assert "is on an object store" in capsys.readouterr().err

    def test_a_live_run_that_is_copied_every_few_minutes_is_not_lost(self):
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1_000.0, host="elsewhere", pid=1))

        assert not life_of(attempt, 1_300.0).alive
        attempt.late_seconds = STORE_LATE_SECONDS
        assert life_of(attempt, 1_300.0).alive


class TestOthers:
    def test_whatever_fsspec_knows(self, logs: Path, clock: Clock):
        memory = fsspec.filesystem("memory")
        memory.put(str(logs), "/fleet", recursive=True)
        directory = RemoteDirectory("memory://fleet", clock)

        directory.refresh()

        assert directory.problem == ""
        whole = {f"crashed/{n}": (logs / "crashed" / n).read_bytes() for n in OURS}
        assert copies(directory) == whole
        memory.rm("/fleet", recursive=True)

    def test_an_address_that_nothing_here_knows(self, capsys):
        assert main(["why", "nothing://bucket/logs"]) == USAGE_ERROR
        said = capsys.readouterr().err
        assert "nothing:// needs a package that is not installed" in said

    def test_nothing_is_recorded_there(self):
        with pytest.raises(ValueError, match="is on an object store"):
            attempt_for("s3://bucket/logs")

    def test_tensorflow_is_not_loaded(self, s3: S3Server, logs: Path):
        s3.put(logs)
        code = (
            "import sys; from tb_health_plugin.diagnosing import diagnose; "
            f"diagnose({ADDRESS!r}); print(*sys.modules)"
        )

        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )

        loaded = set(done.stdout.split())
        assert "boto3" in loaded
        assert not {"tensorflow", "keras"} & loaded
