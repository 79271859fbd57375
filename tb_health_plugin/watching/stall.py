"""Judges from outside whether a training stands still, by its own history.

A false alarm costs more than a late one. So only the steady part of a training is
judged by silence alone. Where a first call may compile, fill a buffer or save, silence
counts only while nothing works either.
"""

import enum
import statistics
from collections import deque
from dataclasses import dataclass

from tb_health_plugin.writing.black_box import Progress
from tb_health_plugin.writing.phases import Phase

# What was promised: flagged within ten seconds, or five times the usual gap.
SHORTEST_SECONDS = 10.0
TIMES_USUAL = 5.0
# Part of that time goes by until the next look, and until stacks have been written.
REACTION_SECONDS = 2.0
# A pause that this run had before and came out of by itself may come again.
TIMES_LONGEST = 1.5
# So many gaps tell what is usual between steps.
STEADY_GAPS = 5
# Recent gaps count: a run may get slower. Enough for some minutes of fast steps.
GAPS_KEPT = 256
# Where nothing is usual yet: nothing at all happened for so long. A compiler, a
# buffer that fills and a file that is written do something every second.
IDLE_SECONDS = 30.0
# Before a training a program imports, downloads and prepares. It may wait for long
# and be well, so it gets more time.
PREPARING_IDLE_SECONDS = 60.0
# Less than this share of a core is timers and heartbeats.
IDLE_CPU_FRACTION = 0.05
# Less than this is logs and chatter.
IDLE_BYTES_PER_SECOND = 100_000.0
# CPU time comes in ticks of 10 ms: shorter than this it says nothing.
MEASURE_SECONDS = 1.0
# At least this share of a core: it computes something.
WORKING_CPU_FRACTION = 0.5
# Work at the end of an epoch that goes on for so long, where it used to take
# seconds, does not end any more.
ENDLESS_SECONDS = 600.0
# An excuse holds for so long at first, then for as long as the silence had lasted.
EXCUSE_SECONDS = 30.0
# If we ourselves did not look for so long, the machine or the container stood still.
BLIND_SECONDS = 5.0
# A shorter sleep is a difference between two clocks.
SLEEP_SECONDS = 1.0


class Kind(enum.Enum):
    """Which history a gap belongs to."""

    PREPARING = "before the first training"
    STARTING = "starting"
    FIRST_STEP = "first step of an epoch"  # buffers are filled again
    STEP = "step"
    VALIDATION_START = "first batch of a validation"
    VALIDATION = "validation"
    BETWEEN_EPOCHS = "between epochs"


_KINDS = {
    Phase.NOT_TRAINING: Kind.PREPARING,
    Phase.STARTING: Kind.STARTING,
    Phase.TRAINING: Kind.STEP,
    Phase.VALIDATION_STARTING: Kind.VALIDATION_START,
    Phase.VALIDATION: Kind.VALIDATION,
    Phase.BETWEEN_EPOCHS: Kind.BETWEEN_EPOCHS,
}
# Judged by silence alone once their history is known.
_STEADY = (Kind.STEP, Kind.VALIDATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is seen at one moment; counters only ever rise.

    Attributes:
        now: By the monotonic clock.
        progress: What the trainer last said.
        cpu_seconds: CPU time of the processes so far; None if not measured now.
        moved_bytes: Bytes that they read and wrote so far.
        suspended_seconds: How long the machine slept since it booted.
    """

    now: float
    progress: Progress
    cpu_seconds: float | None = None
    moved_bytes: float = 0.0
    suspended_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Nothing went on for far longer than usual.

    Attributes:
        since: When something last went on, by the monotonic clock.
        silent_seconds: How long that is ago.
        usual_seconds: The usual gap; None if nothing is usual yet.
        phase: What the loop was doing.
        cpu_fraction: Share of a core that was used since; None if unknown.
        works: It computes, or moves data: it may only be slow.
    """

    since: float
    silent_seconds: float
    usual_seconds: float | None
    phase: Phase
    cpu_fraction: float | None
    works: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A reported stall is over."""

    since: float
    silent_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """The machine slept. That is no stall."""

    seconds: float


class _History:
    """The gaps of one kind."""

    def __init__(self, *, habit_after: int) -> None:
        self._habit_after = habit_after
        self._gaps: deque[float] = deque(maxlen=GAPS_KEPT)
        self._stalls: list[float] = []
        self._longest = 0.0
        self.gaps = 0

    def add(self, seconds: float, *, times: int = 1) -> None:
        """So many gaps of this length at most; they ended between two looks."""
        self.gaps += times
        self._gaps.append(seconds)
        self._longest = max(self._longest, seconds)

    def add_stall(self, seconds: float) -> None:
        """Once they come again and again, stalls are how this run is."""
        self.gaps += 1
        self._stalls.append(seconds)
        if len(self._stalls) >= self._habit_after:
            habit = sorted(self._stalls)[-self._habit_after]
            self._longest = max(self._longest, habit)

    @property
    def usual(self) -> float | None:
        return statistics.median(self._gaps) if self._gaps else None

    @property
    def patience(self) -> float:
        usual = TIMES_USUAL * (self.usual or 0.0)
        longest = TIMES_LONGEST * self._longest
        return max(SHORTEST_SECONDS, usual, longest) - REACTION_SECONDS


class _Activity:
    """Whether the processes compute or move data, second by second."""

    def __init__(self) -> None:
        self._measured: tuple[float, float, float] | None = None
        self._idle_since = 0.0
        self.moves_bytes = False

    def look(self, look: Look) -> None:
        if look.cpu_seconds is None:
            return
        new = (look.now, look.cpu_seconds, look.moved_bytes)
        if self._measured is None:
            self._measured, self._idle_since = new, look.now
            return
        seconds = look.now - self._measured[0]
        if seconds < MEASURE_SECONDS:
            return
        cpu = (look.cpu_seconds - self._measured[1]) / seconds
        moved = (look.moved_bytes - self._measured[2]) / seconds
        self.moves_bytes = moved > IDLE_BYTES_PER_SECOND
        if cpu > IDLE_CPU_FRACTION or self.moves_bytes:
            self._idle_since = look.now
        self._measured = new

    def idle_seconds(self, now: float) -> float:
        """0 as long as nothing could be measured."""
        return now - self._idle_since if self._measured else 0.0


class StallJudge:
    """Told what is seen about once a second; answers when something changed.

    A `Stall` is a suspicion: whoever gets it looks closer, and then calls either
    `report` or `excuse`.

    Args:
        trains_soon: The program is there to train. Somebody who types may take as long
            as they like before the first training, and anybody after the last.
    """

    def __init__(self, *, trains_soon: bool = False) -> None:
        self._trains_soon = trains_soon
        # What an epoch's end did once it will do again. A step that stalled once
        # need not stall again.
        self._histories = {
            kind: _History(habit_after=2 if kind in _STEADY else 1) for kind in Kind
        }
        self._activity = _Activity()
        self._last: Look | None = None
        self._kind: Kind | None = None
        self._silent_seconds = 0.0
        # CPU time when the silence was first seen, and newest; with the time.
        self._silent_cpu: tuple[float, float] | None = None
        self._newest_cpu: tuple[float, float] | None = None
        # Silence is not counted from before this: we or the machine were away.
        self._not_before = 0.0
        self._not_again_before = 0.0
        self._excused = False
        self._suspected: Stall | None = None
        self._reported: Stall | None = None
        self._teaches = True

    def look(self, look: Look) -> Stall | Recovery | Sleep | None:
        """What changed with this look; None if nothing did."""
        last, self._last = self._last, look
        self._activity.look(look)
        slept = self._notice_absence(last, look)
        if last is None or look.progress.beats != last.progress.beats:
            return self._went_on(last, look) or slept
        return slept or self._stands_still(look)

    def report(self, *, teaches: bool = True) -> None:
        """The suspicion was right.

        Args:
            teaches: It says something about what is usual in this run; a process
                that somebody stopped does not.
        """
        self._reported = self._suspected
        self._teaches = teaches

    def excuse(self) -> None:
        """It is only slow, for now."""
        assert self._suspected is not None
        assert self._last is not None
        self._excused = True
        wait = max(EXCUSE_SECONDS, self._suspected.silent_seconds)
        self._not_again_before = self._last.now + wait

    def _notice_absence(self, last: Look | None, look: Look) -> Sleep | None:
        if last is None:
            self._not_before = look.now
            return None
        slept = look.suspended_seconds - last.suspended_seconds
        if slept > SLEEP_SECONDS or look.now - last.now > BLIND_SECONDS:
            self._not_before = look.now
        return Sleep(seconds=slept) if slept > SLEEP_SECONDS else None

    def _went_on(self, last: Look | None, look: Look) -> Recovery | None:
        reported = self._reported
        if last is not None and self._kind is not None:
            self._learn(self._kind, last, look)
            self._learn_of_an_epoch(last, look)
            self._learn_of_quick_steps(last, look)
        self._kind = self._kind_of(look.progress)
        self._silent_seconds = 0.0
        self._silent_cpu = None
        self._not_again_before = 0.0
        self._excused = False
        self._suspected = self._reported = None
        if reported is None:
            return None
        lasted = look.progress.beat_at - reported.since
        return Recovery(since=reported.since, silent_seconds=lasted)

    def _learn(self, kind: Kind, last: Look, look: Look) -> None:
        history = self._histories[kind]
        if self._reported is not None:
            if self._teaches:
                history.add_stall(self._silent_seconds)
            return
        # What was excused for what it did is excused for that again.
        if self._excused:
            return
        before, after = last.progress, look.progress
        gap, times = self._silent_seconds, 1
        if before.phase == after.phase:
            times = max(1, after.step - before.step or after.beats - before.beats)
            gap = max(gap, (after.beat_at - before.beat_at) / times)
            # The first step is over; those that followed are like all others.
            if kind is Kind.FIRST_STEP and times > 1:
                history = self._histories[Kind.STEP]
        if gap > 0.0:
            history.add(gap, times=times)

    def _learn_of_an_epoch(self, last: Look, look: Look) -> None:
        """An epoch may begin between two looks: then it did so quickly."""
        before, after = last.progress, look.progress
        began = after.phase_since
        if not before.phase == after.phase == Phase.TRAINING or began <= last.now:
            # Whole epochs may pass between two looks, with what is between them.
            if after.epoch - before.epoch >= 1:
                took = after.beat_at - before.beat_at
                self._histories[Kind.BETWEEN_EPOCHS].add(took)
            return
        self._histories[Kind.BETWEEN_EPOCHS].add(began - last.now)
        if _kind(after) is Kind.STEP:
            self._histories[Kind.FIRST_STEP].add(after.beat_at - began)

    def _learn_of_quick_steps(self, last: Look, look: Look) -> None:
        """Steps that came between two looks in different phases were quick, too."""
        before, after = last.progress, look.progress
        steps = after.step - before.step
        if before.phase == after.phase or after.phase != Phase.TRAINING or steps < 2:
            return
        # The first of them may have compiled.
        gap = (after.beat_at - before.beat_at) / steps
        if gap > 0.0:
            self._histories[Kind.STEP].add(gap, times=steps - 1)

    def _stands_still(self, look: Look) -> Stall | None:
        since = max(look.progress.beat_at, self._not_before)
        self._silent_seconds = max(0.0, look.now - since)
        if look.cpu_seconds is not None:
            self._newest_cpu = (look.now, look.cpu_seconds)
            self._silent_cpu = self._silent_cpu or self._newest_cpu
        if self._kind is None or self._reported or look.now < self._not_again_before:
            return None
        if not self._is_suspect(self._kind, look.now):
            return None
        self._suspected = self._stall(look, since, self._histories[self._kind].usual)
        return self._suspected

    def _is_suspect(self, kind: Kind, now: float) -> bool:
        history = self._histories[kind]
        silent = self._silent_seconds
        idle = min(silent, self._activity.idle_seconds(now))
        if kind is Kind.PREPARING:
            return idle >= PREPARING_IDLE_SECONDS
        known = STEADY_GAPS if kind in _STEADY else 1
        if kind is Kind.STARTING or history.gaps < known:
            return idle >= IDLE_SECONDS
        if kind in _STEADY:
            return silent >= history.patience
        is_endless = silent >= max(ENDLESS_SECONDS, history.patience)
        return is_endless or idle >= history.patience

    def _kind_of(self, progress: Progress) -> Kind | None:
        """None: nothing is promised to go on in this phase."""
        kind = _kind(progress)
        if kind is not Kind.PREPARING or progress.step:
            self._trains_soon = False
        return None if kind is Kind.PREPARING and not self._trains_soon else kind

    def _stall(self, look: Look, since: float, usual: float | None) -> Stall:
        fraction = _fraction(self._silent_cpu, self._newest_cpu)
        return Stall(
            since=since,
            silent_seconds=look.now - since,
            usual_seconds=usual,
            phase=Phase(look.progress.phase),
            cpu_fraction=fraction,
            works=self._activity.moves_bytes
            or (fraction or 0.0) >= WORKING_CPU_FRACTION,
        )


def _fraction(
    first: tuple[float, float] | None, last: tuple[float, float] | None
) -> float | None:
    """Share of a core that was used in between."""
    if first is None or last is None or last[0] <= first[0]:
        return None
    return (last[1] - first[1]) / (last[0] - first[0])


def _kind(progress: Progress) -> Kind:
    phase = Phase(progress.phase)
    # Entering a phase is its first beat.
    if phase is Phase.TRAINING and progress.beat_at <= progress.phase_since:
        return Kind.FIRST_STEP
    return _KINDS[phase]
