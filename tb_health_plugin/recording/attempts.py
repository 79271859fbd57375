"""The recordings of this process, one per log directory, however many ask for it."""

import os
import threading
import time
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.process_end import ProcessEnd, on_process_end
from tb_health_plugin.recording.recorder import PERIOD_SECONDS, Recorder

# By log directory: whoever comes second for the same directory goes on with the
# story instead of beginning another one.
_attempts: dict[Path, "Attempt"] = {}
_attempts_lock = threading.Lock()


class Attempt:
    """What the callbacks and the launcher of one process and log directory share.

    Attributes:
        pid: The process it belongs to.
        recorder: Where facts and progress go.
        guard: Keeps faults of ours away from the training.
        trainings: Trainings begun so far.
        under_way: A training has begun and not ended.
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
        self.under_way = False
        on_process_end(self._ended)

    @property
    def is_over(self) -> bool:
        """A training was recorded, and none is under way."""
        return self.trainings > 0 and not self.under_way

    def release(self) -> None:
        """Ends the recording although the process goes on."""
        step = self.recorder.progress.step
        with self.guard.protect("the end of the run"):
            self.recorder.release(
                facts.RunEnded(
                    wall_time=time.time(), step=step, reason="finished", last_step=step
                )
            )

    def _ended(self, end: ProcessEnd) -> None:
        step = self.recorder.progress.step
        with self.guard.protect("the end of the run"):
            self.recorder.close(
                facts.RunEnded(
                    wall_time=end.happened_at,
                    step=step,
                    reason=end.reason,
                    exception=end.exception,
                    message=end.message,
                    text=end.text,
                    file=end.file,
                    line=end.line,
                    last_step=step,
                    training_under_way=self.under_way,
                )
            )


def attempt_for(
    logdir: "str | os.PathLike[str]",
    *,
    period_seconds: float = PERIOD_SECONDS,
    watcher: bool = True,
) -> Attempt:
    """The one attempt of this process in `logdir`; begun if there is none yet.

    Raises:
        ValueError: `logdir` cannot be used; the message says why.
    """
    directory = Path(os.path.abspath(Path(logdir).expanduser()))
    with _attempts_lock:
        attempt = _attempts.get(directory)
        # After a fork the parent's attempt is not ours to write to.
        if attempt is None or attempt.pid != os.getpid():
            _release_idle()
            attempt = Attempt(directory, period_seconds, watcher)
            _attempts[directory] = attempt
        return attempt


def _release_idle() -> None:
    """Ends recordings whose trainings are over: a sweep begins one per trial."""
    for directory, attempt in list(_attempts.items()):
        if attempt.pid == os.getpid() and attempt.is_over:
            attempt.release()
            del _attempts[directory]
