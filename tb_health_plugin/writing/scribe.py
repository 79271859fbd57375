"""Writes the story: takes facts out of the black box, adds samples, survives the disk.

The watcher runs one. Where there is no watcher, a thread of the trainer does.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event

from tb_health_plugin.collectors import (
    available_collectors,
    news_of,
    settings_of,
    tell_save,
)
from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.schedule import Schedule
from tb_health_plugin.events import codec, columns, facts, tags
from tb_health_plugin.events.event_file import encode_fact
from tb_health_plugin.writing.attempt_files import AttemptFiles
from tb_health_plugin.writing.black_box import BlackBox
from tb_health_plugin.writing.terms import Terms
from tb_health_plugin.writing.thinning import fitting_each

# A disk that failed is tried again after this long.
RETRY_SECONDS = 5.0
# Facts kept while the disk fails; more than that means it will not come back.
MOST_KEPT = 10_000
# Of a large team only some samples are written, but the last ones all.
LAST_SAMPLES = 60

# Marks the fact without which a file would not tell that there was a training.
_TRAINING_STARTED = tags.TRAINING_STARTED.encode()
_SAVED = tags.SAVED.encode()
_PROGRESS = tuple(column.name for column in columns.PROGRESS)


class Scribe:
    """The one writer of an attempt's files.

    Args:
        box: Where facts and progress come from.
        terms: What to record, and where.
        recorded_by: "watcher" or "thread".
        not_recorded: What this writer cannot know.
        say: Tells a person, once, what is no longer recorded and why.
    """

    def __init__(
        self,
        box: BlackBox,
        terms: Terms,
        *,
        recorded_by: str,
        not_recorded: tuple[facts.NotRecorded, ...] = (),
        say: Callable[[str, str], None] = lambda what, why: None,
    ) -> None:
        self._box = box
        self._say = say
        self._kept: deque[tuple[bytes, bool]] = deque(maxlen=MOST_KEPT)
        self._dropped_seen = 0
        self._samples = 0
        self._failing_since: float | None = None
        self._retry_at = 0.0
        self._failure = ""
        self._samples_failing_since: float | None = None
        self._samples_retry_at = 0.0
        settings = terms.start.get("settings", {})
        watched = Watched(
            pid=terms.pid,
            logdir=Path(terms.logdir),
            visible_gpus=settings.get("env.CUDA_VISIBLE_DEVICES"),
            temp=terms.temp or None,
        )
        self._pid = terms.pid
        collectors, missing = available_collectors(watched)
        self._collectors = collectors
        self._schedule = Schedule(collectors, changed=self._collector_changed)
        start = facts.RunStarted(
            **{**terms.start, "settings": {**settings, **settings_of(collectors)}},
            recorded_by=recorded_by,
            not_recorded=(*missing, *not_recorded),
        )
        columns = (*_PROGRESS, *self._schedule.columns)
        self._written_each = max(terms.written_each, fitting_each(len(columns)))
        self._files = AttemptFiles(
            Path(terms.directory),
            start=encode_fact(start),
            columns=columns,
            period_seconds=terms.period_seconds * self._written_each,
        )
        # Measured and not written since the last one that was.
        self._unwritten: deque[tuple[float, dict[str, float]]] = deque(
            maxlen=LAST_SAMPLES
        )
        self.numbers: dict[str, float] = {}

    def write(self, fact: facts.Fact, *, sync: bool = False) -> None:
        """Writes a fact of the writer's own."""
        self._kept.append((encode_fact(fact), sync))

    def tick(self, *, sample: bool = True) -> None:
        """Writes what was handed over and, if asked, one sample. Never raises."""
        now = time.time()
        for record in self._box.take():
            if _TRAINING_STARTED in record:
                self._files.training = record
            if _SAVED in record:
                self._saw_save(record)
            self._kept.append((record, False))
        self._tell_dropped(now)
        if sample:
            self.numbers = self._sample()
        # By the clock that nobody sets: back by a day, it would keep us from writing.
        if time.monotonic() < self._retry_at:
            return
        try:
            self._files.ensure_open(now)
            if self._failing_since is not None:
                self._files.append(encode_fact(self._gap(now)))
                self._failing_since = None
            while self._kept:
                event, sync = self._kept[0]
                self._files.append(event, sync=sync)
                self._kept.popleft()
        except Exception as error:  # noqa: BLE001 - tried again later
            self._broken(error, now)
            return
        if not sample:
            return
        # What happened once is in one sample only.
        has_event = any(name.endswith("_xid") for name in self.numbers)
        if (self._samples - 1) % self._written_each and not has_event:
            self._unwritten.append((now, self.numbers))
        else:
            rare = self._rare()
            self._unwritten.clear()
            self._write_sample(now, {**rare, **self.numbers})

    def _rare(self) -> dict[str, float]:
        """Numbers of GPUs that are asked for rarely, from samples not written."""
        return {
            name: value
            for _, numbers in self._unwritten
            for name, value in numbers.items()
            if name.startswith("gpu")
        }

    def close(self) -> None:
        """Writes the last samples in full: what led to an end is in them."""
        for now, numbers in self._unwritten:
            self._write_sample(now, numbers)
        self._files.abandon()

    @property
    def step(self) -> int:
        progress = self._box.progress()
        return progress.step if progress else 0

    def _saw_save(self, record: bytes) -> None:
        """Where the training saves is known from the first time that it does."""
        with contextlib.suppress(Exception):
            (value,) = Event.FromString(record).summary.value
            saved = codec.decode_value(value, 0.0, 0)
            if isinstance(saved, facts.Saved) and saved.path:
                # As the trainer sees it, from the folder that it works in.
                works_in = Path(f"/proc/{self._pid}/cwd").readlink()
                tell_save(self._collectors, Path(works_in, saved.path).parent)

    def _sample(self) -> dict[str, float]:
        numbers = {"sample": float(self._samples), **self._schedule.sample()}
        self._samples += 1
        for fact in news_of(self._collectors, time.time(), self.step):
            self.write(fact)
        progress = self._box.progress()
        if progress is not None:
            numbers["step"] = float(progress.step)
            numbers["epoch"] = progress.epoch
            numbers["loss"] = progress.loss
            numbers["data_waited_seconds"] = progress.wait_seconds
        return numbers

    def _write_sample(self, now: float, numbers: dict[str, float]) -> None:
        """On a full disk samples fail first: facts have room of their own."""
        if time.monotonic() < self._samples_retry_at:
            return
        try:
            self._files.append_sample(now, numbers)
        except Exception as error:  # noqa: BLE001 - tried again later
            self._samples_retry_at = time.monotonic() + RETRY_SECONDS
            self._files.abandon_samples()
            if self._samples_failing_since is None:
                self._samples_failing_since = now
                why = f"{type(error).__name__}: {error}"
                self._say("samples, for now", why)
                self._tell_samples(now, why, resumed=False)
            return
        if self._samples_failing_since is not None:
            self._tell_samples(now, "the disk works again", resumed=True)
            self._samples_failing_since = None

    def _tell_samples(self, now: float, why: str, *, resumed: bool) -> None:
        self.write(
            facts.RecordingStopped(
                wall_time=now,
                step=self.step,
                what="samples",
                why=why,
                began_at=self._samples_failing_since,
                resumed=resumed,
            )
        )

    def _broken(self, error: Exception, now: float) -> None:
        self._retry_at = time.monotonic() + RETRY_SECONDS
        self._files.abandon()
        if self._failing_since is None:
            self._failing_since = now
            self._failure = f"{type(error).__name__}: {error}"
            self._say("for now", self._failure)

    def _gap(self, now: float) -> facts.RecordingStopped:
        return facts.RecordingStopped(
            wall_time=now,
            step=self.step,
            what="facts and samples",
            why=self._failure,
            began_at=self._failing_since,
            resumed=True,
        )

    def _tell_dropped(self, now: float) -> None:
        dropped = self._box.dropped
        if dropped > self._dropped_seen:
            lost = dropped - self._dropped_seen
            self._dropped_seen = dropped
            self.write(
                facts.RecordingStopped(
                    wall_time=now,
                    step=self.step,
                    what=f"{lost:,} facts",
                    why="more came at once than could be handed over",
                    resumed=True,
                )
            )

    def _collector_changed(self, what: str, error: str, failing: bool) -> None:
        if failing:
            self._say(what, error)
        self.write(
            facts.RecordingStopped(
                wall_time=time.time(),
                step=self.step,
                what=what,
                why=error,
                resumed=not failing,
            )
        )
