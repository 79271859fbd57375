"""Two hundred kills at random moments: nothing is lost, nothing is left."""

import random
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tests.watching.conftest import ROOT, command, wait_for_end, watchers, zombies

KILLS = 200
# Under the first of these the watcher is still starting.
LONGEST_STEPS = 600


def open_descriptors() -> set[str]:
    """Names in shared directories that a careless hand-over would leave behind."""
    return {str(p) for d in ("/dev/shm", "/tmp") for p in Path(d).glob("*health*")}


def one_death(logdir: Path, steps: int) -> tuple[int, int | None, int]:
    """Kills a training after so many steps; returns said, signal and recorded step."""
    child = subprocess.Popen(
        command(logdir, "endless"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    for _ in range(steps):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    said, _ = child.communicate()
    lines = said.split(b"\n")
    last = int(lines[-2]) if len(lines) > 1 else steps
    attempt = wait_for_end(logdir)
    return last, attempt.last(facts.ProcessEnded).signal, attempt.last_step


@pytest.mark.live
@pytest.mark.timeout(900)
def test_every_finished_step_is_in_the_file_and_nothing_is_left(tmp_path: Path):
    before, dead_before = open_descriptors(), zombies()
    chance = random.Random(20)

    def death(number: int) -> tuple[int, int | None, int]:
        logdir = tmp_path / str(number)
        logdir.mkdir()
        return one_death(logdir, chance.randrange(1, LONGEST_STEPS))

    with ThreadPoolExecutor(3) as pool:
        deaths = list(pool.map(death, range(KILLS)))

    assert [d for d in deaths if d[2] < d[0]] == []
    assert {number for _, number, _ in deaths} == {signal.SIGKILL}
    wait_until(lambda: not watchers(tmp_path))
    wait_until(lambda: zombies() <= dead_before)
    assert open_descriptors() <= before
