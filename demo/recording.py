"""Runs a training until it ends or is stuck, and asks what became of it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from demo.trainings import Training
from tb_health_plugin import diagnose
from tb_health_plugin.diagnosing import NothingRecorded
from tb_health_plugin.diagnosis.as_json import Answer

# The slowest takes half a minute alone; a busy machine gets a lot more.
LONGEST_SECONDS = 400.0
# The watcher writes the end within two seconds; a busy machine gets more.
WRITTEN_WITHIN_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_DONE = "recorded"


class DidNotTrain(Exception):
    """The script ended without a record. The message shows what it printed."""


@dataclass(frozen=True)
class Recorded:
    """A training that is over, and what we say of it.

    Attributes:
        seconds: How long it took; None if it was recorded by an earlier demo.
    """

    training: Training
    answer: Answer
    seconds: float | None

    @property
    def right(self) -> bool:
        """The verdict is the right one; a healthy run got no warning at all."""
        if self.answer["verdict"]["id"] not in self.training.verdicts:
            return False
        alarms = [f for f in self.answer["findings"] if f["severity"] != "info"]
        return "healthy" not in self.training.verdicts or not alarms


def record(training: Training, out: Path) -> Recorded:
    """Trains, unless an earlier demo did so already.

    Raises:
        DidNotTrain: Nothing was recorded.
    """
    logdir = out / "logs" / training.name
    done = logdir / _DONE
    if done.exists():
        return Recorded(training, diagnose(logdir), None)
    shutil.rmtree(logdir, ignore_errors=True)
    output = out / "output" / f"{training.name}.txt"
    output.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with output.open("wb") as file:
        _run(training, logdir, file.fileno())
    recorded = _ended(training, logdir, output, began)
    if recorded.right:
        done.write_text("So that the next `make demo` need not train again.\n")
    return recorded


def _run(training: Training, logdir: Path, output: int) -> None:
    root = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, str(training.script), str(logdir)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": root},
        start_new_session=True,
    )
    until = time.monotonic() + LONGEST_SECONDS
    try:
        while time.monotonic() < until and not _is_stuck(logdir):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
                return
    finally:
        # It is stuck, or the demo was interrupted: nothing of it stays behind.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _is_stuck(logdir: Path) -> bool:
    with contextlib.suppress(NothingRecorded, NotADirectoryError):
        return diagnose(logdir)["state"] == "stuck"
    return False


def _ended(training: Training, logdir: Path, output: Path, began: float) -> Recorded:
    """What is said once the end is written down, a moment after it came."""
    until = time.monotonic() + WRITTEN_WITHIN_SECONDS
    while True:
        try:
            answer = diagnose(logdir)
        except (NothingRecorded, NotADirectoryError) as error:
            printed = output.read_text(errors="replace")
            raise DidNotTrain(f"{error}. It printed:\n{printed[-4_000:]}") from error
        recorded = Recorded(training, answer, time.monotonic() - began)
        # A hang has its right name before its end is written, and another sentence.
        is_over = answer["state"] not in ("running", "stuck")
        if (recorded.right and is_over) or time.monotonic() > until:
            return recorded
        time.sleep(0.2)
