"""The watcher: samples the trainer from outside, sees it end, and writes it down."""

import contextlib
import signal
import time
from collections import deque

from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.events import facts
from tb_health_plugin.watching.children import Children
from tb_health_plugin.watching.closing_words import say_the_end
from tb_health_plugin.watching.forecasts import Forecasts, memory_held
from tb_health_plugin.watching.last_words import LastWords
from tb_health_plugin.watching.oom_kills import OomKills
from tb_health_plugin.watching.process_status import WatchedProcess
from tb_health_plugin.watching.stall_watch import StallWatch
from tb_health_plugin.writing.black_box import RELEASED, WATCHER, BlackBox, Progress
from tb_health_plugin.writing.phases import Phase
from tb_health_plugin.writing.scribe import Scribe
from tb_health_plugin.writing.terms import Terms

# A kill frees the memory before the last sample, so the peak of the last minute counts.
PEAK_SECONDS = 60.0
# Facts reach the disk this often, samples at the period of the run.
DRAIN_SECONDS = 0.25


def main(box_fd: int, stacks_fd: int, process_fd: int) -> None:
    """Runs until the trainer has ended."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    _live_longer()
    Watcher(BlackBox(box_fd), stacks_fd, process_fd).run()


class Watcher:
    """Watches one trainer.

    Args:
        box: What the trainer leaves.
        stacks_fd: Where its stacks go.
        process_fd: A pidfd of it, or -1.
    """

    def __init__(self, box: BlackBox, stacks_fd: int, process_fd: int) -> None:
        self._box = box
        self._terms = Terms.decode(box.terms())
        self._process = WatchedProcess(self._terms.pid, process_fd)
        self._oom_kills = OomKills(Watched(pid=self._terms.pid))
        self._last_words = LastWords(stacks_fd, self._terms.output)
        self._memory: deque[tuple[float, float]] = deque()
        self._limit: float | None = None
        self._scribe = Scribe(
            box,
            self._terms,
            recorded_by="watcher",
            say=lambda what, why: box.complain(f"{what}: {why}"),
        )
        self._forecasts = Forecasts(self._scribe)
        self._children = Children(self._terms.pid, self._scribe)
        self._stalls = StallWatch(
            box, self._terms, process_fd, self._last_words, self._scribe
        )
        box.watcher_beat_at = time.monotonic()
        box.owner = WATCHER

    def run(self) -> None:
        next_sample = time.monotonic()
        ended = False
        while not ended:
            now = time.monotonic()
            self._box.watcher_beat_at = now
            if self._is_writer:
                self._scribe.tick(sample=now >= next_sample)
                self._stalls.look(now)
            if now >= next_sample:
                self._remember_memory(now)
                self._forecasts.look(now)
                self._children.look(now)
                self._oom_kills.look(now)
                next_sample = now + self._terms.period_seconds
            wait = min(DRAIN_SECONDS, next_sample - time.monotonic())
            ended = self._process.wait(wait)
            if self._box.owner == RELEASED:
                self._scribe.tick()
                self._scribe.close()
                return
        self._write_the_end()

    @property
    def _is_writer(self) -> bool:
        """False once a thread of the trainer took over because we seemed dead."""
        return self._box.owner == WATCHER

    def _remember_memory(self, now: float) -> None:
        numbers = self._scribe.numbers
        held = memory_held(numbers)
        if held is not None:
            self._memory.append((now, held))
        while self._memory and self._memory[0][0] < now - PEAK_SECONDS:
            self._memory.popleft()
        self._limit = numbers.get(
            "cgroup_memory_limit_bytes", numbers.get("host_memory_total_bytes")
        )

    def _write_the_end(self) -> None:
        status = self._process.status()
        self._oom_kills.look(time.monotonic())
        progress = self._box.progress()
        if self._is_writer:
            # Where it stood when it died, for the lanes and the epoch.
            self._scribe.tick()
        self._scribe.write(
            facts.ProcessEnded(
                wall_time=time.time(),
                step=progress.step if progress else 0,
                exit_code=status.exit_code,
                signal=status.signal,
                seen_by=status.seen_by,
                cgroup_oom_kills=self._oom_kills.in_the_group(),
                machine_oom_kills=self._oom_kills.on_the_machine(),
                peak_memory_bytes=max((held for _, held in self._memory), default=None),
                memory_limit_bytes=self._limit,
                stacks=self._last_words.stacks() or None,
                output_tail=self._last_words.output_tail() or None,
                log_tail=self._box.log_tail() or None,
                silent_seconds=_silence(progress),
                last_step=progress.step if progress else None,
                phase=Phase(progress.phase).name.lower() if progress else None,
            ),
            sync=True,
        )
        self._scribe.tick(sample=False)
        self._scribe.close()
        if status.signal is not None:
            step = progress.step if progress else 0
            say_the_end(self._terms, status.signal, step)


def _silence(progress: Progress | None) -> float | None:
    return time.monotonic() - progress.beat_at if progress else None


def _live_longer() -> None:
    """Asks the kernel to kill others first, where we are allowed to ask."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - a kernel file
        file.write("-500")
