"""How a loop was left: the exception passes through, and its place is known."""

import functools
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tb_health_plugin
from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader

pytestmark = pytest.mark.live
watch = functools.partial(tb_health_plugin.watch, watcher=False)
ROOT = Path(__file__).parents[3]
PROGRAM = "tests.recording.loops.looping_trainer"


def broken_data():
    yield 1.0
    yield 2.0
    raise KeyError("row 17")


def run_until(where: str, health) -> None:
    if where == "other":
        health.dataset([1.0])
        raise RuntimeError(where)
    for _ in health.dataset(broken_data()):
        health.step(loss=1.0)
        if where == "step":
            raise RuntimeError(where)


@pytest.mark.parametrize(
    ("where", "kind", "steps"),
    [("data", KeyError, 2), ("step", RuntimeError, 1), ("other", RuntimeError, 0)],
)
def test_an_exception_is_told_with_its_place(
    tmp_path: Path, recorded, where: str, kind: type[Exception], steps: int
):
    with pytest.raises(kind) as raised, watch(tmp_path) as health:
        run_until(where, health)

    ended = recorded().last(facts.TrainingEnded)
    assert (ended.reason, ended.exception) == ("raised", kind.__name__)
    assert (ended.during, ended.last_step) == (where, steps)
    assert ended.file == __file__
    assert ended.function == ("broken_data" if where == "data" else "run_until")
    assert str(raised.value) in ended.message
    assert "Traceback" in ended.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_it_passes_through_untouched(tmp_path: Path, recorded, kind):
    error = kind(3)
    with pytest.raises(kind) as raised, watch(tmp_path):
        raise error

    assert raised.value is error
    assert recorded().last(facts.TrainingEnded).exception == kind.__name__


def run(logdir: Path, ending: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", PROGRAM, str(logdir), ending],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )


def read(logdir: Path):
    (directory,) = (logdir / "plugins/health").iterdir()
    reader = AttemptReader(directory)
    reader.refresh()
    return reader.attempt


def test_a_killed_loop_keeps_its_steps(tmp_path: Path):
    done = run(tmp_path, "SIGKILL")

    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: read(tmp_path).last(facts.ProcessEnded))
    attempt = read(tmp_path)
    said = int(done.stdout.split()[-1])
    assert said == 300
    assert attempt.last(facts.ProcessEnded).last_step == said
    assert attempt.last(facts.TrainingStarted).loop == "loop"
    assert attempt.last(facts.TrainingEnded) is None


@pytest.mark.parametrize("ending", ["finished", "forgotten"])
def test_a_loop_that_nobody_closes_ends_with_its_program(tmp_path: Path, ending: str):
    assert run(tmp_path, ending).returncode == 0

    wait_until(lambda: read(tmp_path).last(facts.RunEnded))
    attempt = read(tmp_path)
    assert attempt.last(facts.TrainingEnded).reason == "returned"
    assert not attempt.last(facts.RunEnded).training_under_way


def test_an_exception_that_ends_the_program_ends_its_loop(tmp_path: Path):
    done = run(tmp_path, "exception")

    assert done.returncode == 1
    assert done.stderr.endswith(b"ValueError: bad batch\n")
    wait_until(lambda: read(tmp_path).last(facts.RunEnded))
    attempt = read(tmp_path)
    assert attempt.last(facts.TrainingEnded).reason == "raised"
    assert attempt.last(facts.RunEnded).training_under_way
