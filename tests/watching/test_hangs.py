"""Every hang caused for real, and seen from outside."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tests.watching.conftest import ROOT, memory_group, read, wait_for_end

pytestmark = pytest.mark.live

ALIVE = Life(alive=True, because="")
GONE = Life(alive=False, because="")
LIMIT_BYTES = 300 << 20
IMPATIENT = str(Path(__file__).with_name("impatient"))


class Training:
    """A training that hangs in some way, and whose watcher is less patient."""

    def __init__(self, logdir: Path, *program: str, **options) -> None:
        self.logdir = logdir
        options = {"stdout": subprocess.DEVNULL, **options}
        self.process = subprocess.Popen(
            [sys.executable, "-m", *program],
            env={**os.environ, "PYTHONPATH": IMPATIENT},
            stdin=subprocess.PIPE,
            cwd=ROOT,
            **options,
        )

    def wait_for(self, kind: type[facts.Fact]) -> facts.Fact:
        return wait_until(lambda: self.last(kind), seconds=120)

    def last(self, kind: type[facts.Fact]) -> facts.Fact | None:
        if not (self.logdir / "plugins/health").exists():
            return None
        return read(self.logdir).last(kind)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def hanging(logdir: Path, how: str) -> tuple[str, ...]:
    return "tests.watching.hanging_trainer", str(logdir), how


@pytest.fixture
def hang(tmp_path: Path) -> Iterator[Callable[[str], Training]]:
    made: list[Training] = []

    def start(how: str) -> Training:
        made.append(Training(tmp_path, *hanging(tmp_path, how)))
        return made[-1]

    yield start
    for training in made:
        training.end()


@pytest.mark.parametrize(
    ("how", "waits_for", "verdict"),
    [
        ("wait_for_data", "data", "input_hang"),
        ("take_locks_crosswise", "lock", "compute_hang"),
        ("hold_the_interpreter", "lock", "compute_hang"),
        ("compute_for_ever", "busy", "compute_hang"),
        ("block_between_epochs", "callback", "callback_hang"),
    ],
)
def test_it_is_seen_with_its_cause_and_its_line(hang, how, waits_for, verdict):
    training = hang(how)

    stalled = training.wait_for(facts.Stalled)

    assert stalled.waits_for == waits_for, stalled
    assert "hanging_trainer.py" in stalled.stacks
    assert f"in {how}" in stalled.stacks
    told = tell(read(training.logdir), ALIVE)
    assert (told.state, told.verdict.id) == ("stuck", verdict)
    assert told.verdict.place["file"].endswith("hanging_trainer.py")
    assert training.process.poll() is None


def test_the_other_thread_of_a_deadlock_is_in_the_stacks(hang):
    stalled = hang("take_locks_crosswise").wait_for(facts.Stalled)

    assert "in other" in stalled.stacks


def test_stopped_and_let_go_on(hang):
    training = hang("go_on")
    wait_until(lambda: (training.last(facts.RunStarted), _steps(training) > 100)[1])
    training.process.send_signal(signal.SIGSTOP)
    stalled = training.wait_for(facts.Stalled)
    training.process.send_signal(signal.SIGCONT)
    ended = training.wait_for(facts.StallEnded)
    before = _steps(training)
    wait_until(lambda: _steps(training) > before)

    assert stalled.waits_for == "stopped"
    assert ended.silent_seconds >= stalled.silent_seconds
    # Both were reckoned back from another moment, maybe on a busy machine.
    assert ended.since == pytest.approx(stalled.since, abs=5.0)
    assert tell(read(training.logdir), ALIVE).state == "running"


def test_a_pause_that_ends(hang):
    training = hang("pause")
    training.wait_for(facts.Stalled)
    training.process.stdin.write(b"\n")
    training.process.stdin.flush()
    training.wait_for(facts.StallEnded)

    assert tell(read(training.logdir), ALIVE).state == "running"


def test_slow_but_moving(tmp_path: Path):
    """A machine that stops a training for longer than it wanted may be called out."""
    for number in range(5):
        logdir = tmp_path / str(number)
        program = hanging(logdir, "go_on_slowly")
        training = Training(logdir, *program, stdout=subprocess.PIPE)
        said, _ = training.process.communicate()
        if b"too slow" not in said:
            break
    attempt = wait_for_end(training.logdir)

    assert b"too slow" not in said
    assert not attempt.all(facts.Stalled)
    assert not attempt.all(facts.RecordingStopped)


def test_a_real_leak_is_told_before_its_limit(tmp_path: Path, monkeypatch):
    """Seen from outside by a watcher whose window is shorter than in real life."""
    with memory_group(LIMIT_BYTES) as group:
        monkeypatch.setenv("TB_HEALTH_TEST_GROUP", str(group))
        training = Training(tmp_path, *hanging(tmp_path, "leak"))
        told = training.wait_for(facts.Incident)
        training.end()

    assert told.kind == "forecast"
    assert told.message.startswith("Use of memory is growing and will reach its limit")
    assert training.process.returncode == -signal.SIGKILL
    attempt = wait_for_end(tmp_path)
    held = attempt.last(facts.ProcessEnded).peak_memory_bytes
    assert held < LIMIT_BYTES


BEFORE = """
import queue, sys
def prepare():
    queue.Queue().get()
print("ready", flush=True)
if sys.stdin.readline() == "hang\\n":
    prepare()
"""


def test_a_program_that_hangs_before_it_trains(tmp_path: Path):
    """Under the launcher nothing of ours need be called for that."""
    program, logdir = tmp_path / "prepares.py", tmp_path / "logs"
    program.write_text(BEFORE)
    run = ("tb_health_plugin", "run", "--logdir", str(logdir), str(program))
    training = Training(logdir, *run, stdout=subprocess.PIPE)
    assert training.process.stdout.readline() == b"ready\n"
    training.process.stdin.write(b"hang\n")
    training.process.stdin.flush()

    stalled = training.wait_for(facts.Stalled)
    told = tell(read(logdir), ALIVE)
    training.process.terminate()
    training.process.communicate()

    assert (stalled.phase, stalled.waits_for) == ("not_training", "data")
    assert "in prepare" in stalled.stacks
    assert (told.state, told.verdict.id) == ("stuck", "input_hang")
    assert told.verdict.place == {"file": str(program), "line": 4}
    ended = tell(wait_for_end(logdir), GONE)
    assert (ended.state, ended.verdict.id) == ("ended_early", "input_hang")
    assert "before the training began, then was asked to stop" in ended.headline


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (signal.SIGKILL, "died"),
        (signal.SIGTERM, "ended_early"),
        (signal.SIGINT, "ended_early"),
    ],
)
def test_ended_while_it_hung(hang, number: int, state: str):
    training = hang("wait_for_data")
    training.wait_for(facts.Stalled)
    training.process.send_signal(number)

    attempt = wait_for_end(training.logdir)

    told = tell(attempt, GONE)
    assert (told.state, told.verdict.id) == (state, "input_hang")
    seen = attempt.last(facts.ProcessEnded)
    # Stacks that were asked for are not those of the end.
    assert bool(seen.stacks) == (number == signal.SIGTERM)


def _steps(training: Training) -> int:
    if not (training.logdir / "plugins/health").exists():
        return 0
    return read(training.logdir).last_step
