"""Takes facts from the trainer and writes them, from a thread of its own.

The trainer only puts facts into a queue and numbers into memory: it never waits for
a disk. The thread is the one writer of the attempt's files. What it has appended is
with the operating system and survives SIGKILL of the trainer; what is still in the
queue does not (`docs/event_format.md`, "What a SIGKILL can cost").
"""

import contextlib
import os
import queue
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.collectors import available_collectors
from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.schedule import Schedule
from tb_health_plugin.events import columns, facts
from tb_health_plugin.recording import this_process
from tb_health_plugin.recording.attempt_files import AttemptFiles
from tb_health_plugin.recording.guard import warn

PERIOD_SECONDS = 1.0
# More facts than this are waiting only if the disk stands still.
LONGEST_QUEUE = 10_000
# How long the end of the program may wait for the last facts to be written.
LAST_WORDS_SECONDS = 2.0
RETRY_SECONDS = 5.0

_PROGRESS = tuple(column.name for column in columns.PROGRESS)


@dataclass(slots=True)
class Progress:
    """Where the training stands. Written by the trainer, read by the thread."""

    step: int = 0
    epoch: float = columns.NOT_MEASURED
    loss: float = columns.NOT_MEASURED


class Recorder:
    """Records one attempt into `directory`.

    Args:
        directory: Made by `new_attempt_directory`, empty.
        period_seconds: Time between two samples.
    """

    def __init__(
        self, directory: Path, *, period_seconds: float = PERIOD_SECONDS
    ) -> None:
        self.progress = Progress()
        self._pid = os.getpid()
        self._period_seconds = period_seconds
        self._queue: queue.SimpleQueue[facts.Fact | None] = queue.SimpleQueue()
        self._dropped = 0
        self._samples = 0
        self._closed = False
        self._failing_since: float | None = None
        self._failure = ""
        collectors, missing = available_collectors(Watched(pid=self._pid))
        self._schedule = Schedule(collectors, changed=self._collector_changed)
        self._files = AttemptFiles(
            directory,
            start=self._start_fact(missing),
            columns=(*_PROGRESS, *self._schedule.columns),
            period_seconds=period_seconds,
        )
        self._thread = threading.Thread(
            target=self._run, name="training-health", daemon=True
        )
        self._thread.start()

    def record(self, fact: facts.Fact) -> None:
        """Hands a fact over. Never blocks and never raises."""
        if self._closed or os.getpid() != self._pid:
            return
        if self._queue.qsize() >= LONGEST_QUEUE:
            self._dropped += 1
            return
        self._queue.put(fact)

    def recording_stopped(self, what: str, why: str, *, resumed: bool = False) -> None:
        """Hands over that a part of the recording failed, or works again."""
        self.record(
            facts.RecordingStopped(
                wall_time=time.time(),
                step=self.progress.step,
                what=what,
                why=why,
                resumed=resumed,
            )
        )

    def close(self, last: facts.RunEnded) -> None:
        """Writes the last fact and ends; waits for it, but not for long."""
        if self._closed:
            return
        self.record(last)
        self._queue.put(None)
        self._closed = True
        if os.getpid() == self._pid:
            self._thread.join(LAST_WORDS_SECONDS)

    def _run(self) -> None:
        next_sample = time.monotonic()
        while True:
            try:
                fact = self._queue.get(timeout=max(0.0, next_sample - time.monotonic()))
            except queue.Empty:
                next_sample = time.monotonic() + self._period_seconds
                self._write(None)
                continue
            if fact is None:
                # One sample at the very end, so that lanes reach the stop.
                self._write(None)
                break
            self._write(fact)
        with contextlib.suppress(OSError):
            self._files.close()

    def _write(self, fact: facts.Fact | None) -> None:
        """Writes a fact, or a sample; a disk that fails is tried again later."""
        now = time.time()
        if self._failing_since is not None and now < self._retry_at:
            self._keep(fact)
            return
        try:
            self._files.ensure_open(now)
            if self._failing_since is not None:
                self._files.append(self._gap(now))
                self._failing_since = None
            if fact is not None:
                self._files.append(fact)
            else:
                self._files.append_sample(now, self._sample())
        except Exception as error:  # noqa: BLE001 - a fault of ours ends here
            self._broken(error, now)
            self._keep(fact)

    def _keep(self, fact: facts.Fact | None) -> None:
        if fact is not None and not self._closed:
            self._queue.put(fact)
            # Without this pause a broken disk would make the thread spin.
            time.sleep(self._period_seconds / 10)

    def _broken(self, error: Exception, now: float) -> None:
        self._retry_at = now + RETRY_SECONDS
        self._files.abandon()
        if self._failing_since is None:
            self._failing_since = now
            self._failure = f"{type(error).__name__}: {error}"
            warn("for now", self._failure)

    def _gap(self, now: float) -> facts.RecordingStopped:
        return facts.RecordingStopped(
            wall_time=now,
            step=self.progress.step,
            what="all facts and samples",
            why=self._failure + (f"; {self._dropped} facts lost" * bool(self._dropped)),
            began_at=self._failing_since,
            resumed=True,
        )

    def _sample(self) -> dict[str, float]:
        numbers = {
            "sample": float(self._samples),
            "step": float(self.progress.step),
            "epoch": float(self.progress.epoch),
            "loss": float(self.progress.loss),
            **self._schedule.sample(),
        }
        self._samples += 1
        return numbers

    def _collector_changed(self, what: str, error: str, failing: bool) -> None:
        if failing:
            warn(what, error)
        self.recording_stopped(what, error, resumed=not failing)

    def _start_fact(self, missing: list[facts.NotRecorded]) -> facts.RunStarted:
        return facts.RunStarted(
            wall_time=time.time(),
            host=this_process.host(),
            pid=self._pid,
            process_start_ticks=this_process.start_ticks(self._pid),
            boot_id=this_process.boot_id(),
            program=this_process.program(),
            recorded_by="thread",
            settings=this_process.settings(),
            not_recorded=(*missing, *NOT_RECORDED_BY_A_THREAD),
        )


NOT_RECORDED_BY_A_THREAD = (
    facts.NotRecorded(
        what="how the process ended, if it was killed",
        why="nothing outside the training was watching it",
    ),
)
