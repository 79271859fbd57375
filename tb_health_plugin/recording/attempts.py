"""The recordings of this process, one per log directory, however many ask for it."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import is_remote, new_attempt_directory
from tb_health_plugin.events.rule_choices import checked
from tb_health_plugin.recording import failed_cell
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.log_tail import LogTail
from tb_health_plugin.recording.notebook_cells import on_failed_cell
from tb_health_plugin.recording.process_end import (
    ProcessEnd,
    end_by_exception,
    on_process_end,
)
from tb_health_plugin.recording.program_said import Ears
from tb_health_plugin.recording.recorder import PERIOD_SECONDS, Recorder
from tb_health_plugin.recording.traces import ErrorWords

# By log directory: whoever comes second for the same directory goes on with the
# story instead of beginning another one.
_attempts: dict[Path, "Attempt"] = {}
_attempts_lock = threading.Lock()


@dataclass(slots=True, kw_only=True)
class LeftBy:
    """The exception that left a training.

    Attributes:
        error_id: Its `id`; the exception itself would keep all that its frames hold.
        words: What it says, and where it was raised.
        during: What the training was doing; a word of `facts.TrainingEnded`.
        callback: Class of the callback it came from.
        exit_code: Exit status that a `SystemExit` asks for.
        ends_process: Nobody caught it: the process ends by it.
    """

    error_id: int
    words: ErrorWords
    during: str
    callback: str | None = None
    exit_code: int | None = None
    ends_process: bool = False

    def is_what(self, end: ProcessEnd) -> bool:
        """True if the process ends by this exception."""
        # An `id` may be used again for an exception that comes later.
        ours = (self.error_id, self.words.exception, self.words.message)
        return ours == (end.error_id, end.exception, end.message)


class OpenTraining(Protocol):
    """A training that has begun and of which no end is known."""

    def process_ends(self, end: ProcessEnd) -> None:
        """Called before the last fact is written."""

    def cell_failed(self, end: ProcessEnd) -> None:
        """Called when an exception left a cell of a notebook."""


class Attempt:
    """What the callbacks and the launcher of one process and log directory share.

    Attributes:
        pid: The process it belongs to.
        recorder: Where facts and progress go.
        guard: Keeps faults of ours away from the training.
        trainings: Trainings begun so far.
        open: Those that have begun and not ended.
        left_by: The exception that left the last training, if one did.
        hearing: Who wants to hear what is found, by the command that hears it too.
    """

    def __init__(self, logdir: Path, period_seconds: float, watcher: bool) -> None:
        self.pid = os.getpid()
        self.recorder = Recorder(
            logdir,
            new_attempt_directory(logdir),
            period_seconds=period_seconds,
            watcher=watcher,
        )
        self.guard = Guard(self.recorder.recording_stopped)
        self.trainings = 0
        self.open: list[OpenTraining] = []
        self.left_by: LeftBy | None = None
        self.hearing: dict[tuple[str, ...], list[Callable[..., None]]] = {}
        self._ears = Ears(self.recorder, self.guard)
        self._ears.begin()
        self._log_tail = LogTail(self.recorder, self.guard)
        self._log_tail.begin()
        self._forget_cells: Callable[[], None] = lambda: None
        with self.guard.protect("cells of a notebook"):
            self._forget_cells = on_failed_cell(self._cell_failed)
        self._forget_end = on_process_end(self._ended)

    @property
    def under_way(self) -> bool:
        """A training has begun and not ended."""
        return bool(self.open)

    @property
    def is_over(self) -> bool:
        """A training was recorded, and none is under way."""
        return self.trainings > 0 and not self.under_way

    def opened(self, training: OpenTraining) -> None:
        self.left_by = None
        self._ears.listen_again()
        if training not in self.open:
            self.open.append(training)

    def closed(self, training: OpenTraining, left_by: LeftBy | None) -> None:
        self.left_by = left_by
        if training in self.open:
            self.open.remove(training)

    def release(self) -> None:
        """Ends the recording although the process goes on."""
        self._ears.end()
        self._log_tail.end()
        self._forget_cells()
        step = self.recorder.progress.step
        with self.guard.protect("the end of the run"):
            self.recorder.release(
                facts.RunEnded(
                    wall_time=time.time(), step=step, reason="finished", last_step=step
                )
            )
        self._forget_end()

    def _cell_failed(self, error: BaseException) -> None:
        if os.getpid() != self.pid:
            return
        with self.guard.protect("the end of a training"):
            end = end_by_exception(type(error), error, error.__traceback__)
            told = self.under_way or (
                self.left_by is not None and self.left_by.is_what(end)
            )
            for training in list(self.open):
                training.cell_failed(end)
            if not told:
                self._failed_outside(end, error)

    def _failed_outside(self, end: ProcessEnd, error: BaseException) -> None:
        """A cell failed while no training was under way."""
        step = self.recorder.progress.step

        def is_ours(callback: Any) -> bool:
            records_into = getattr(callback, "records_into", None)
            return callable(records_into) and bool(records_into(self))

        if failed_cell.passed_fit(error.__traceback__, is_ours):
            number, self.trainings = self.trainings, self.trainings + 1
            for fact in failed_cell.refused_fit(end, training=number, step=step):
                self.recorder.record(fact)
        elif not self.trainings:
            self.recorder.record(failed_cell.before_training(end, step=step))

    def _ended(self, end: ProcessEnd) -> None:
        under_way = self.under_way
        for training in list(self.open):
            with self.guard.protect("the end of a training"):
                training.process_ends(end)
        self._ears.end()
        self._log_tail.end()
        step = self.recorder.progress.step
        with self.guard.protect("the end of the run"):
            told = _told(end, self.left_by)
            cut_short = under_way or "during" in told
            self.recorder.close(
                facts.RunEnded(
                    wall_time=end.happened_at,
                    step=step,
                    last_step=step,
                    training_under_way=cut_short,
                    **told,
                )
            )


def _told(end: ProcessEnd, left_by: LeftBy | None) -> dict[str, Any]:
    """What ended the process, and where in a training if it struck there."""
    found: dict[str, Any] = {
        "reason": end.reason,
        "exception": end.exception,
        "message": end.message,
        "text": end.text,
        "file": end.file,
        "line": end.line,
        "function": end.function,
    }
    if left_by is None:
        return found
    is_exit = end.error_id is None and left_by.ends_process
    if is_exit:
        words = left_by.words
        found.update(
            reason="exit",
            exit_code=left_by.exit_code,
            exception=words.exception,
            message=words.message,
            text=words.text,
        )
    if is_exit or left_by.is_what(end):
        place = left_by.words.place
        found.update(during=left_by.during, callback=left_by.callback)
        if place is not None:
            found.update(file=place.file, line=place.line, function=place.function)
    return found


def attempt_for(
    logdir: "str | os.PathLike[str]",
    *,
    period_seconds: float = PERIOD_SECONDS,
    watcher: bool = True,
    rules: Mapping[str, Any] | None = None,
) -> Attempt:
    """The one attempt of this process in `logdir`; begun if there is none yet.

    Args:
        logdir: The run's directory.
        period_seconds: Time between two samples.
        watcher: Start a process that watches from outside.
        rules: What the user wants of the rules; see `events/rule_choices.py`.

    Raises:
        ValueError: `logdir` or `rules` cannot be used; the message says why.
    """
    wanted = None if rules is None else checked(rules)
    if is_remote(logdir):
        raise ValueError(
            f"logdir={os.fspath(logdir)!r} is on an object store, which takes no bytes "
            "at the end of a file. Record to a directory of this machine and copy it "
            "there while it grows; docs/workers.md says how."
        )
    directory = Path(os.path.abspath(Path(logdir).expanduser()))
    with _attempts_lock:
        attempt = _attempts.get(directory)
        # After a fork the parent's attempt is not ours to write to.
        if attempt is None or attempt.pid != os.getpid():
            _release_idle()
            attempt = Attempt(directory, period_seconds, watcher)
            _attempts[directory] = attempt
        if wanted is not None:
            attempt.recorder.record(
                facts.RulesChosen(
                    wall_time=time.time(),
                    step=attempt.recorder.progress.step,
                    rules=wanted,
                )
            )
        return attempt


def _release_idle() -> None:
    """Ends recordings whose trainings are over: a sweep begins one per trial."""
    for directory, attempt in list(_attempts.items()):
        if attempt.pid == os.getpid() and attempt.is_over:
            attempt.release()
            del _attempts[directory]
