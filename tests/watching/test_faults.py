"""The watcher dies, stops or cannot write: the training does not notice."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import life_of
from tests.watching.conftest import ROOT, command, read, wait_for_end, watchers
from tests.watching.endings_table import kill_together, restarted_machine

pytestmark = pytest.mark.live


class Training:
    """An endless training that a test interferes with."""

    def __init__(self, logdir: Path, *, env: dict[str, str] | None = None) -> None:
        self.logdir = logdir
        self.process = subprocess.Popen(
            command(logdir, "endless"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
        )

    def step(self) -> int:
        return int(self.process.stdout.readline())

    def skip(self, steps: int) -> int:
        for _ in range(steps):
            last = self.step()
        return last

    def watcher(self) -> int:
        return wait_until(lambda: watchers(self.logdir))[0]

    def end(self, number: int = signal.SIGKILL) -> tuple[int, str]:
        """Ends it; returns the last step that it said and its standard error."""
        self.process.send_signal(number)
        said, errors = self.process.communicate()
        lines = said.split(b"\n")
        # The last line may be cut.
        return int(lines[-2]) if len(lines) > 1 else 0, errors.decode()


@pytest.fixture
def training(tmp_path: Path):
    made = Training(tmp_path)
    made.step()
    yield made
    if made.process.poll() is None:
        made.end()


def test_no_finished_step_is_lost_by_a_sigkill(training: Training):
    training.watcher()
    training.skip(500)

    said, _ = training.end(signal.SIGKILL)

    assert wait_for_end(training.logdir).last_step >= said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_the_program_does_not_end_the_watcher(
    training: Training, number: int
):
    watcher = training.watcher()
    os.kill(watcher, number)
    training.skip(200)
    training.end(signal.SIGTERM)

    seen = wait_for_end(training.logdir).last(facts.ProcessEnded)
    assert seen.signal == signal.SIGTERM


class TestAWatcherThatIsLost:
    @pytest.fixture
    def training(self, tmp_path: Path):
        # A shorter patience than in real life, so that the test need not wait.
        made = Training(tmp_path, env={"TB_HEALTH_TEST_PATIENCE": "1"})
        made.step()
        yield made
        if made.process.poll() is None:
            made.end()

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
    def test_a_thread_takes_over_and_says_what_is_lost(
        self, training: Training, number: int
    ):
        watcher = training.watcher()
        os.kill(watcher, number)
        wait_until(
            lambda: (
                training.step() and len(read(training.logdir).all(facts.RunStarted)) > 1
            )
        )
        starts = read(training.logdir).all(facts.RunStarted)
        training.skip(500)
        said, errors = training.end(signal.SIGINT)

        assert [start.recorded_by for start in starts] == ["watcher", "thread"]
        assert starts[1].not_recorded[-1].what.startswith("how the process ended")
        assert errors.count("Training Health stopped recording") == 1
        assert read(training.logdir).last_step >= said
        if number == signal.SIGSTOP:
            os.kill(watcher, signal.SIGCONT)
            # It comes back too late to write samples, but not to tell the end.
            seen = wait_for_end(training.logdir).last(facts.ProcessEnded)
            assert seen is not None


def test_a_removed_directory_is_made_again(training: Training):
    training.watcher()
    shutil.rmtree(training.logdir / "plugins")
    wait_until(
        lambda: (
            training.skip(50)
            and (training.logdir / "plugins").exists()
            and read(training.logdir).start
        )
    )

    said, _ = training.end()

    assert wait_for_end(training.logdir).last_step >= said


class TestAFullDisk:
    @pytest.fixture
    def small_disk(self, tmp_path: Path):
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root may mount a small disk")
        yield disk
        wait_until(
            lambda: not subprocess.run(["umount", str(disk)], check=False).returncode
        )

    def test_the_training_goes_on_and_the_gap_is_a_fact(self, small_disk: Path):
        training = Training(small_disk)
        training.step()
        training.watcher()
        filler = fill(small_disk)
        before = training.step()
        # Long enough for more samples than the last page of their file has room for.
        training.skip(4_000)
        filler.unlink()
        wait_until(
            lambda: (
                training.skip(50)
                and len(read(small_disk).all(facts.RecordingStopped)) == 2
            )
        )
        said, errors = training.end()

        attempt = wait_for_end(small_disk)
        gap, back = attempt.all(facts.RecordingStopped)
        assert "No space left" in gap.why
        assert (gap.resumed, back.resumed) == (False, True)
        assert attempt.last_step >= said > before
        assert errors.count("Training Health stopped recording") == 1
        assert "No space left" in errors

    def test_the_end_is_told_on_a_disk_that_stays_full(self, small_disk: Path):
        training = Training(small_disk)
        training.step()
        training.watcher()
        fill(small_disk)
        training.skip(4_000)
        said, _ = training.end()

        attempt = wait_for_end(small_disk)
        assert attempt.last_step >= said
        assert attempt.last(facts.ProcessEnded) is not None
        (gap,) = attempt.all(facts.RecordingStopped)
        assert "No space left" in gap.why


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1_024))
    return filler


def test_a_machine_that_is_lost_takes_trainer_and_watcher(tmp_path: Path):
    """Both are killed for real; that the machine was started again is made up."""
    logdir, root = tmp_path / "logs", tmp_path / "root"
    logdir.mkdir()
    training = Training(logdir)
    training.step()
    attempt, now = kill_together(training.process, logdir)
    training.process.communicate()
    restarted_machine(root)

    here = tell(attempt, life_of(attempt, now))
    again = tell(attempt, life_of(attempt, now, root=root))

    assert (here.verdict.id, here.verdict.detail) == ("killed_outside", "together")
    assert again.verdict.id == "machine_lost"
