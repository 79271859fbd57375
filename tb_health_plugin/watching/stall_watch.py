"""Watches for stalls, looks closer at one, and writes down what was seen."""

import math
import os
import time
from collections.abc import Mapping

from tb_health_plugin.collectors.kernel_files import read
from tb_health_plugin.collectors.process_stat import parse_stat
from tb_health_plugin.events import facts
from tb_health_plugin.watching.last_words import LastWords
from tb_health_plugin.watching.network_use import may_use_network
from tb_health_plugin.watching.stacks import Trainer
from tb_health_plugin.watching.stall import Look, Recovery, Sleep, Stall, StallJudge
from tb_health_plugin.watching.waits_for import explain
from tb_health_plugin.writing.black_box import BlackBox, Progress
from tb_health_plugin.writing.scribe import Scribe
from tb_health_plugin.writing.terms import Terms

# Often enough to keep the promise of ten seconds.
LOOK_SECONDS = 1.0

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_MOVED = ("tree_read_bytes", "tree_write_bytes")
# Of the whole machine. It is only taken for work, and so only delays an alarm.
_NETWORK = ("network_received_bytes", "network_sent_bytes")
# A silence of so many looks is looked into: are these bytes its own?
_SILENT_LOOKS = 3


class StallWatch:
    """Looks about once a second, at a cost of some microseconds.

    Args:
        box: What the trainer says.
        terms: Which trainer.
        process_fd: A pidfd of it, or -1.
        last_words: Where its stacks go.
        scribe: Writes facts down, and knows the newest numbers.
    """

    def __init__(
        self,
        box: BlackBox,
        terms: Terms,
        process_fd: int,
        last_words: LastWords,
        scribe: Scribe,
    ) -> None:
        self._box = box
        self._pid = terms.pid
        self._last_words = last_words
        self._scribe = scribe
        self._judge = StallJudge(trains_soon=terms.trains_soon)
        # What a trainer would have said that has not said anything yet.
        self._silent = Progress.at_start(time.monotonic())
        self._next_look = 0.0
        self._beats = -1
        self._silent_looks = 0
        self._foreign_bytes = 0.0
        self._network_bytes = 0.0
        self._numbers: Mapping[str, float] = {}
        self._trainer = Trainer(
            terms.pid,
            process_fd,
            start_ticks=terms.start.get("process_start_ticks"),
            stacks_signal=terms.stacks_signal,
            last_words=last_words,
        )

    def look(self, now: float) -> None:
        """Never raises: a fault here must not cost the rest of the record."""
        if now < self._next_look:
            return
        progress = self._box.progress() or self._silent
        self._next_look = now + LOOK_SECONDS
        try:
            self._judge_by(now, progress)
        except Exception as error:  # noqa: BLE001 - told once, then given up
            self._next_look = math.inf
            self._scribe.write(
                facts.RecordingStopped(
                    wall_time=time.time(),
                    step=progress.step,
                    what="stalls",
                    why=f"{type(error).__name__}: {error}",
                )
            )

    def _judge_by(self, now: float, progress: Progress) -> None:
        seen = self._judge.look(self._look(now, progress))
        if isinstance(seen, Stall):
            self._look_closer(seen, progress.step)
        elif isinstance(seen, Recovery):
            self._went_on(seen, now, progress.step)
        elif isinstance(seen, Sleep):
            self._slept(seen, progress.step)

    def _look(self, now: float, progress: Progress) -> Look:
        numbers = self._scribe.numbers
        # A sample is counted once: the one before it says nothing of this moment.
        is_new, self._numbers = numbers is not self._numbers, numbers
        moved = sum(numbers.get(name, 0.0) for name in _MOVED)
        return Look(
            now=now,
            progress=progress,
            cpu_seconds=self._cpu_seconds(numbers) if is_new else None,
            moved_bytes=moved + self._own_network_bytes(numbers, progress),
            suspended_seconds=_suspended_seconds(),
        )

    def _own_network_bytes(
        self, numbers: Mapping[str, float], progress: Progress
    ) -> float:
        """Bytes of the network, without those that cannot be the trainer's."""
        is_silent = progress.beats == self._beats
        self._beats = progress.beats
        self._silent_looks = self._silent_looks + 1 if is_silent else 0
        total = sum(numbers.get(name, 0.0) for name in _NETWORK)
        is_asked = self._silent_looks >= _SILENT_LOOKS and total != self._network_bytes
        if is_asked and not may_use_network(self._pid):
            self._foreign_bytes += total - self._network_bytes
        self._network_bytes = total
        return total - self._foreign_bytes

    def _cpu_seconds(self, numbers: Mapping[str, float]) -> float | None:
        if "tree_cpu_seconds" in numbers:
            return numbers["tree_cpu_seconds"]
        stat = parse_stat(read(f"/proc/{self._pid}/stat"))
        return stat.cpu_ticks / _TICKS_PER_SECOND if stat else None

    def _look_closer(self, stall: Stall, step: int) -> None:
        scene = self._trainer.scene()
        explanation = explain(stall, scene)
        if explanation.is_slow:
            self._judge.excuse()
            return
        self._judge.report(teaches=explanation.waits_for != "stopped")
        now = time.time()
        self._scribe.write(
            facts.Stalled(
                wall_time=now,
                step=step,
                since=now - (time.monotonic() - stall.since),
                silent_seconds=stall.silent_seconds,
                usual_seconds=stall.usual_seconds,
                phase=stall.phase.name.lower(),
                stacks=self._trainer.text(scene),
                waits_for=explanation.waits_for,
                because=explanation.because,
                cpu_fraction=stall.cpu_fraction,
            )
        )

    def _went_on(self, recovery: Recovery, now: float, step: int) -> None:
        # An answer that came too late must not be taken for stacks of the end.
        self._last_words.take()
        wall_time = time.time()
        self._scribe.write(
            facts.StallEnded(
                wall_time=wall_time,
                step=step,
                since=wall_time - (now - recovery.since),
                silent_seconds=recovery.silent_seconds,
            )
        )

    def _slept(self, sleep: Sleep, step: int) -> None:
        self._scribe.write(
            facts.Incident(
                wall_time=time.time(),
                step=step,
                kind="machine_slept",
                severity="info",
                message=f"The machine slept for {sleep.seconds:,.0f} seconds.",
            )
        )


def _suspended_seconds() -> float:
    """How long the machine slept since it booted; 0 where nobody tells."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    awake = time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - awake
