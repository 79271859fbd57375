"""Hands facts over to whoever writes them, and makes sure that somebody does.

The trainer only writes memory: it never waits for a disk. A watcher process takes
facts out of that memory and writes them; it still does when the trainer is killed in
the middle of a step. If it cannot start or dies, a thread of the trainer takes over.
"""

import os
import threading
import time
import weakref
from pathlib import Path

from tb_health_plugin.collectors.disk_space import temp_directory
from tb_health_plugin.events import facts
from tb_health_plugin.events.codec import MOST_ITEMS
from tb_health_plugin.events.event_file import encode_fact
from tb_health_plugin.recording import this_process
from tb_health_plugin.recording.crash_stacks import crash_stacks
from tb_health_plugin.recording.guard import Guard, warn
from tb_health_plugin.recording.watcher_start import start_watcher
from tb_health_plugin.recording.worker import team_size
from tb_health_plugin.writing.black_box import (
    RELEASED,
    THREAD,
    WATCHER,
    BlackBox,
    Progress,
    make_file,
)
from tb_health_plugin.writing.phases import Phase
from tb_health_plugin.writing.scribe import Scribe
from tb_health_plugin.writing.terms import Terms
from tb_health_plugin.writing.thinning import written_each

_WHAT = "anything, for nobody writes it"
PERIOD_SECONDS = 1.0
# The watcher starts within half a second; a machine under load gets more time.
STARTS_WITHIN_SECONDS = 10.0
# A watcher that did not go on for so long is taken for dead. It may only have been
# kept from running, so this is long: a late thread loses a few samples at most.
LOST_AFTER_SECONDS = 15.0
# How long the end of the program may wait for the last facts to be written.
LAST_WORDS_SECONDS = 2.0
# That of a container. Its end ends all others in there, the watcher too.
FIRST_PROCESS = 1

WITHOUT_A_WATCHER = (
    facts.NotRecorded(
        what="how the process ended, if it was killed",
        why="nothing outside the training was watching it",
    ),
)


class Recorder:
    """Records one attempt into `directory`.

    Args:
        logdir: The run's log directory.
        directory: The attempt's own, made by `new_attempt_directory`, empty.
        period_seconds: Time between two samples.
        watcher: Start a process that watches from outside.

    Attributes:
        progress: Where the training stands; `publish` makes it known.
        directory: See above.
    """

    def __init__(
        self,
        logdir: Path,
        directory: Path,
        *,
        period_seconds: float = PERIOD_SECONDS,
        watcher: bool = True,
    ) -> None:
        self.progress = Progress.at_start(time.monotonic())
        self.directory = directory
        self._live = True
        self._period_seconds = period_seconds
        self._box = BlackBox(make_file())
        self._stacks = crash_stacks()
        self._terms = Terms(
            pid=os.getpid(),
            logdir=str(logdir),
            directory=str(directory),
            period_seconds=period_seconds,
            start=this_process.start_fields(time.time()),
            terminal=this_process.terminal(),
            output=this_process.output_file(),
            stacks_signal=self._stacks.asked_by,
            written_each=written_each(team_size(os.environ)),
            trains_soon=not this_process.is_interactive(),
            temp=temp_directory(),
        )
        self._box.set_terms(self._terms.encode())
        _recorders.add(self)
        self._stop = threading.Event()
        self._released = False
        self._watched = threading.Event()
        self._thread = threading.Thread(
            target=self._keep, args=(watcher,), name="training-health", daemon=True
        )
        self._thread.start()

    @property
    def is_live(self) -> bool:
        """False once its last fact was handed over."""
        return self._live

    def wait_until_watched(self, seconds: float) -> None:
        """Waits until a watcher is on its way, so that it sees even an early end."""
        self._watched.wait(seconds)

    def publish(self) -> None:
        """Makes `progress` known. Costs about a microsecond."""
        self._publish(time.monotonic())

    def enter(self, phase: Phase) -> None:
        """The training loop now does something else.

        Its first beat is at the very moment that the phase begins: by that a first
        step is known, however quick steps are.
        """
        now = time.monotonic()
        if phase != self.progress.phase:
            self.progress.phase = phase
            self.progress.phase_since = now
        self._publish(now)

    def _publish(self, now: float) -> None:
        if self._live:
            self.progress.beats += 1
            self.progress.beat_at = now
            self._box.set_progress(self.progress)

    def record(self, fact: facts.Fact) -> None:
        """Hands a fact over. Never waits."""
        if self._live:
            self._box.put(encode_fact(fact))
            if isinstance(fact, facts.TrainingStarted):
                self._tell_left_out(fact)

    def _tell_left_out(self, begun: facts.TrainingStarted) -> None:
        """Of a very large model only the first layers and variables are written."""
        count = max(len(begun.layers), len(begun.variables))
        if count > MOST_ITEMS:
            what = f"layers and variables after the first {MOST_ITEMS:,}"
            self.recording_stopped(what, f"{count:,} are more than can be written")

    def keep_log(self, lines: bytes) -> None:
        """The newest lines of the program's log, in place of those before."""
        if self._live:
            self._box.set_log_tail(lines)

    def recording_stopped(self, what: str, why: str) -> None:
        """Hands over that a part of the recording failed."""
        now, step = time.time(), self.progress.step
        self.record(
            facts.RecordingStopped(wall_time=now, step=step, what=what, why=why)
        )

    def close(self, last: facts.RunEnded) -> None:
        """Hands the last fact over, and sees to it that somebody writes it."""
        if not self._live:
            return
        self.record(last)
        self._live = False
        self._stop.set()
        # The watcher writes after our end. A thread of ours must do it before.
        if self._box.owner != WATCHER:
            self._thread.join(LAST_WORDS_SECONDS)
        elif os.getpid() == FIRST_PROCESS:
            self._wait_for_watcher()

    def _wait_for_watcher(self) -> None:
        """Until it has written all that was handed over; for a moment at most."""
        until = time.monotonic() + LAST_WORDS_SECONDS
        beat_at = None
        while time.monotonic() < until:
            if beat_at is not None and self._box.watcher_beat_at != beat_at:
                return
            if beat_at is None and self._box.is_empty:
                # What it has taken is written before it looks again.
                beat_at = self._box.watcher_beat_at
            time.sleep(0.01)

    def release(self, last: facts.RunEnded) -> None:
        """Ends the recording although the process goes on."""
        if self._live:
            self.record(last)
            self._live = False
            self._released = True
            # A thread of ours sees this and ends; the watcher looks at the box.
            self._stop.set()
            self._let_go()

    def _keep(self, watcher: bool) -> None:
        """Runs in the thread: starts the watcher, and does its work without one."""
        with Guard(self.recording_stopped).protect(_WHAT):
            why = "it was not asked for"
            if watcher:
                why = start_watcher(self._box, self._stacks.fd, self._watched.set)
                self._watched.set()
                if not why:
                    why = self._watch_the_watcher()
            if why:
                self._write_instead(why)
        self._watched.set()

    def _watch_the_watcher(self) -> str:
        """Returns why there is no watcher; empty when the program ends before that."""
        began = time.monotonic()
        while self._box.owner != WATCHER:
            if time.monotonic() - began > STARTS_WITHIN_SECONDS:
                return "the watcher did not start"
            if self._stop.is_set() and time.monotonic() - began > LAST_WORDS_SECONDS:
                return "the watcher did not start before the program ended"
            time.sleep(0.02)
        complaint = ""
        while not self._stop.wait(self._period_seconds):
            if self._box.complaint() != complaint:
                complaint = self._box.complaint()
                warn("for now", complaint)
            if time.monotonic() - self._box.watcher_beat_at > LOST_AFTER_SECONDS:
                return "the watcher was lost"
        # It may have come after the recording was released.
        self._let_go()
        return ""

    def _let_go(self) -> None:
        """Tells the watcher that the story is told, if it is."""
        if self._released and self._box.owner == WATCHER:
            self._box.owner = RELEASED

    def _write_instead(self, why: str) -> None:
        if why != "it was not asked for":
            warn("how the process ends", why)
        self._box.owner = THREAD
        scribe = Scribe(
            self._box,
            self._terms,
            recorded_by="thread",
            not_recorded=WITHOUT_A_WATCHER,
            say=warn,
        )
        while True:
            scribe.tick()
            if self._stop.wait(self._period_seconds):
                break
        # One sample at the very end, so that lanes reach the stop.
        scribe.tick()
        scribe.close()

    def _in_a_child(self) -> None:
        """A forked child is not the trainer: nothing of it belongs into the record."""
        self._live = False
        self._stop.set()


# A function that a fork calls cannot be taken back, and would keep what it belongs to.
_recorders: "weakref.WeakSet[Recorder]" = weakref.WeakSet()


def _in_a_child() -> None:
    for recorder in list(_recorders):
        recorder._in_a_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_a_child)
