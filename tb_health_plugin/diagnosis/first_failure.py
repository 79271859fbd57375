"""Which of several workers failed first, and whose failure comes from that one."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from tb_health_plugin.diagnosis.moments import has_returned, last_end
from tb_health_plugin.diagnosis.peers import serves
from tb_health_plugin.diagnosis.verdict import Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

# "root": the cause is here. "same": it has the same failure by itself. "consequence":
# it ended or waits because of the root. "fine": nothing is wrong with it. "no record".
Part = Literal["root", "same", "consequence", "fine", "no record"]

# What a worker says when another one is the cause.
_VICTIM = "peer_lost"
# A worker that stands still failed when it stopped, not when somebody noticed.
_STANDS = (
    "stopped_process",
    "input_hang",
    "callback_hang",
    "compute_hang",
    "endless_epoch",
    "peer_lost",
)
# What somebody else did to a process; launchers end all workers when one has failed.
_FROM_OUTSIDE = ("killed_outside", "preempted", "user_interrupt")
_ENDS = (*_FROM_OUTSIDE, "explicit_exit")
# Failures of one kind this close together are no consequence of each other: the same
# program meets the same fault everywhere.
SAME_MOMENT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One worker, judged alone.

    Attributes:
        name: As in "worker 1".
        attempt: Its record.
        story: Of that record.
        clock_ahead_seconds: What to take from its times; None if unknown.
        is_cleaned_up: It serves others, and was ended when these were done.
    """

    name: str
    attempt: Attempt
    story: Story
    clock_ahead_seconds: float | None = 0.0
    is_cleaned_up: bool = False

    @property
    def title(self) -> str:
        """Its name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def failure(self) -> Verdict | None:
        """What ended it or holds it up; None if it is fine or only warned."""
        verdict = self.story.verdict
        is_over = self.story.state in ("running", "finished") or self.is_cleaned_up
        if is_over or verdict is None:
            return None
        # A training that ended early in good order may have warnings, too.
        is_end = verdict.id in _ENDS or verdict.severity == "critical"
        return None if self.story.state == "ended_early" and not is_end else verdict

    @property
    def is_victim(self) -> bool:
        """It says itself that another one is the cause."""
        return self.failure is not None and self.failure.id == _VICTIM

    @property
    def failed_at(self) -> float:
        """When it failed, by the clock of the first worker."""
        return self._failed_at() - (self.clock_ahead_seconds or 0.0)

    def _failed_at(self) -> float:
        failure = self.failure
        if failure and failure.id in _STANDS and failure.cause_at.wall_time:
            return failure.cause_at.wall_time
        left = last_end(self.attempt)
        if left is not None and left.reason == "raised":
            return left.wall_time
        end = self.attempt.last(facts.RunEnded)
        if end is not None:
            return end.happened_at or end.wall_time
        gone = self.attempt.last(facts.ProcessEnded)
        return gone.wall_time if gone else (self.attempt.last_seen_at or 0.0)


def without_cleaned_up(members: "list[Member]") -> "list[Member]":
    """The same, with servers marked that were ended because nobody needs them any more.

    A parameter server never ends by itself: a launcher ends it after the training.
    """
    if not any(has_returned(one.attempt) for one in members):
        return members
    return [
        dataclasses.replace(one, is_cleaned_up=_was_ended(one) and serves(one.attempt))
        for one in members
    ]


def root_of(members: "list[Member]") -> Member | None:
    """The worker that failed first by itself; None if none did."""
    own = [one for one in members if one.failure and not one.is_victim]
    if not own:
        return None
    first = min(own, key=_moment)
    # Whoever is ended from outside after a peer was lost may only have been cleaned up.
    by_itself = [one for one in own if not _was_ended(one)]
    lost = [one for one in members if one.is_victim]
    if _was_ended(first) and by_itself and lost:
        return min(by_itself, key=_moment)
    return first


def parts(members: "list[Member]", root: Member) -> dict[str, Part]:
    """By name: what each worker's end has to do with the root."""
    return {one.name: _part(one, root) for one in members}


def _part(one: Member, root: Member) -> Part:
    if one is root:
        return "root"
    if one.failure is None:
        return "fine"
    cause = root.failure
    is_same = cause is not None and (one.failure.id, one.failure.detail) == (
        cause.id,
        cause.detail,
    )
    near = abs(one.failed_at - root.failed_at) <= SAME_MOMENT_SECONDS
    return "same" if is_same and near and not one.is_victim else "consequence"


def ended_early(members: "list[Member]") -> Member | None:
    """One that was done with fewer steps than others, which now miss it."""
    done = [one for one in members if has_returned(one.attempt)]
    waiting = [one for one in members if one.is_victim]
    if not done or not waiting:
        return None
    first = min(done, key=lambda one: (one.attempt.last_step, one.name))
    behind = [o for o in waiting if o.attempt.last_step >= first.attempt.last_step]
    return first if len(behind) == len(waiting) else None


def _was_ended(one: Member) -> bool:
    return one.failure is not None and one.failure.id in _FROM_OUTSIDE


def _moment(one: Member) -> tuple[float, str]:
    return one.failed_at, one.name
