"""What a SIGKILL costs: nothing, and without a watcher what was not appended yet."""

import hashlib
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY
from tb_health_plugin.events.tail import Tail
from tb_health_plugin.reading.attempt_reader import AttemptReader

pytestmark = pytest.mark.live

PROGRAM = Path(__file__).with_name("programs") / "journaled_training.py"
KILLS = 3
# The version of the file format, and the head that names the columns.
EVENTS_BEFORE_SAMPLES = 2
# A step of the program lasts at least a fifth of a period; four periods are slack.
MOST_STEPS_UNSEEN = 20


@dataclass(frozen=True)
class Killed:
    """A training that was killed.

    Attributes:
        directory: Of its attempt.
        journal: The words of each line of its journal.
    """

    directory: Path
    journal: list[list[str]]

    def reader(self) -> AttemptReader:
        reader = AttemptReader(self.directory)
        reader.refresh()
        return reader

    def appended(self) -> list[tuple[str, str]]:
        return [(line[1], line[2]) for line in self.journal if line[0] == "appended"]


def train_and_kill(folder: Path, writer: str) -> Killed:
    journal = folder / "journal"
    journal.touch()
    moment = random.randint(100, 400)
    program = [sys.executable, str(PROGRAM), str(folder / "run"), str(journal), writer]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: journal.read_bytes().count(b"\n") >= moment)
        finally:
            process.kill()
    (directory,) = (folder / "run" / HEALTH_DIRECTORY).iterdir()
    lines = [line.split() for line in journal.read_text().splitlines()]
    return Killed(directory, lines)


def kill_some(factory: pytest.TempPathFactory, writer: str) -> list[Killed]:
    folders = [factory.mktemp("killed") for _ in range(KILLS)]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda folder: train_and_kill(folder, writer), folders))


@pytest.fixture(scope="module")
def all_killed(tmp_path_factory: pytest.TempPathFactory) -> list[Killed]:
    """Recorded by a thread, as where no watcher can run."""
    return kill_some(tmp_path_factory, "thread")


@pytest.fixture(scope="module")
def all_watched(tmp_path_factory: pytest.TempPathFactory) -> list[Killed]:
    return kill_some(tmp_path_factory, "watcher")


@pytest.fixture(params=range(KILLS))
def killed(request: pytest.FixtureRequest, all_killed: list[Killed]) -> Killed:
    return all_killed[request.param]


def test_every_event_that_was_appended_can_be_read(killed: Killed) -> None:
    readable = {
        (file.name, hashlib.sha256(record).hexdigest())
        for file in killed.directory.iterdir()
        for record in Tail(file).records()
    }

    assert len(killed.appended()) > 10
    assert set(killed.appended()) <= readable


def test_the_files_are_read_without_damage(killed: Killed) -> None:
    reader = killed.reader()

    assert reader.attempt.start is not None
    assert reader.problems == []


def test_samples_follow_each_other_to_the_last_one(killed: Killed) -> None:
    events = [name for name, _ in killed.appended() if name.startswith("samples")]

    samples = killed.reader().attempt.samples.column("sample").tolist()

    assert samples == list(range(len(samples)))
    assert len(samples) >= len(events) - EVENTS_BEFORE_SAMPLES


def test_the_last_sample_is_about_a_period_old(killed: Killed) -> None:
    steps_done = max(int(line[1]) for line in killed.journal if line[0] == "step")

    last_seen = killed.reader().attempt.samples.column("step")[-1]

    assert steps_done - last_seen <= MOST_STEPS_UNSEEN


def test_epochs_handed_over_two_samples_earlier_are_there(killed: Killed) -> None:
    sampled = [
        index
        for index, line in enumerate(killed.journal)
        if line[0] == "appended" and line[1].startswith("samples")
    ]
    # The recorder empties its queue between any two samples.
    safe = [
        int(line[1]) for line in killed.journal[: sampled[-2]] if line[0] == "handed"
    ]

    found = [one.epoch for one in killed.reader().attempt.all(facts.EpochEnded)]

    assert len(safe) > 0
    assert found[: len(safe)] == safe


@pytest.mark.parametrize("number", range(KILLS))
def test_with_a_watcher_no_finished_step_or_epoch_is_lost(
    all_watched: list[Killed], number: int
) -> None:
    killed = all_watched[number]
    steps_done = max(int(line[1]) for line in killed.journal if line[0] == "step")
    handed = [int(line[1]) for line in killed.journal if line[0] == "handed"]
    wait_until(lambda: killed.reader().attempt.last(facts.ProcessEnded))

    attempt = killed.reader().attempt

    assert attempt.last(facts.ProcessEnded).signal == signal.SIGKILL
    assert attempt.last_step >= steps_done
    assert [one.epoch for one in attempt.all(facts.EpochEnded)][: len(handed)] == handed
    assert killed.reader().problems == []
