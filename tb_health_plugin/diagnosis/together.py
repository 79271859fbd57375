"""One story for all workers of one start: the first failure, and what came from it."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tb_health_plugin.diagnosis import clocks, durations
from tb_health_plugin.diagnosis.first_failure import (
    Member,
    Part,
    ended_early,
    parts,
    root_of,
    without_cleaned_up,
)
from tb_health_plugin.diagnosis.lost_worker import (
    fewer_batches,
    host_gone,
    in_another_phase,
    lost_each_other,
)
from tb_health_plugin.diagnosis.pace import Team, paces
from tb_health_plugin.diagnosis.server_load import uneven
from tb_health_plugin.diagnosis.verdict import Evidence, Moment, Story, Verdict
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.workers import Start, worker_of

# More workers than this in the words of a verdict hide it; the table has them all.
_MOST_NAMED = 3

# Judges one worker, given what all of them spend their time on.
Judge = Callable[[Attempt, Team], Story]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStory:
    """One worker in the story of all.

    Attributes:
        name: As in "worker 1".
        part: What it has to do with the cause.
        attempt: Its record; None if it left none here.
        story: Of that record alone.
        clock_ahead_seconds: How far its clock is ahead of the first one's; None if
            that cannot be told.
    """

    name: str
    part: Part
    attempt: Attempt | None = None
    story: Story | None = None
    clock_ahead_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStory:
    """How one start of a run went.

    Attributes:
        story: For the run list and the verdict.
        attempt: The record that the story is about.
        workers: Those that trained together; none if it was alone.
        size: How many there should have been.
        notes: What else is good to know about them, as sentences.
    """

    story: Story
    attempt: Attempt
    workers: tuple[WorkerStory, ...] = ()
    size: int = 1
    notes: tuple[str, ...] = ()


def judge_run(history: RunHistory, judge: Judge) -> tuple[StartStory, ...]:
    """The stories of all starts of a run, the last one last."""
    return tuple(
        judge_start(start, judge, before=history.starts[n - 1] if n else None)
        for n, start in enumerate(history.starts)
    )


def judge_start(start: Start, judge: Judge, before: Start | None = None) -> StartStory:
    """The story of all workers of one start.

    Args:
        start: It.
        judge: Judges one of them.
        before: The start before it.
    """
    note = _fewer_than(before, start)
    if not start.is_distributed:
        lead = start.lead
        return StartStory(story=judge(lead, {}), attempt=lead, notes=note)
    team = paces(start.attempts) if len(start.attempts) > 1 else {}
    ahead = clocks.ahead(start.attempts)
    members = [
        Member(
            name=_name(attempt),
            attempt=attempt,
            story=judge(attempt, team),
            clock_ahead_seconds=ahead[attempt.id],
        )
        for attempt in start.attempts
    ]
    told = _together(without_cleaned_up(members), start)
    return dataclasses.replace(told, notes=(*told.notes, *note))


def _together(members: list[Member], start: Start) -> StartStory:
    root = root_of(members)
    early = ended_early(members) if root is None else None
    blamed = root or early
    phases = in_another_phase(members) if blamed is None else None
    apart = lost_each_other(members) if blamed is None and phases is None else None
    story: Story
    if root is not None:
        told = parts(members, root)
        story = _of_root(root, members, told)
    elif early is not None:
        told = {**_victims(members), early.name: "root"}
        root, story = early, fewer_batches(early, members)
    elif phases is not None:
        root, story = phases
        told = {**_victims(members), root.name: "root"}
    elif apart is not None:
        told, root, story = _victims(members), members[0], apart
    elif (busy := _uneven_servers(members)) is not None:
        root, story = busy
        told = {**_victims(members), root.name: "root"}
    else:
        told = _victims(members)
        root = _speaker(members)
        story = _named(root, members)
        named = story.verdict.place.get("worker") if story.verdict else None
        if named == root.name:
            told[root.name] = "root"
    workers = (
        *(
            WorkerStory(
                name=one.name,
                part=told[one.name],
                attempt=one.attempt,
                story=one.story,
                clock_ahead_seconds=one.clock_ahead_seconds,
            )
            for one in members
        ),
        *_without_record(start, members, story),
    )
    return StartStory(
        story=story,
        attempt=root.attempt,
        workers=workers,
        size=start.size,
        notes=tuple(_clock_notes(members)),
    )


def _uneven_servers(members: list[Member]) -> tuple[Member, Story] | None:
    """Worth telling only if nothing worse is wrong."""
    if any(one.story.severity != "info" for one in members if one.failure):
        return None
    return uneven(members)


def _victims(members: list[Member]) -> dict[str, Part]:
    return {o.name: "consequence" if o.is_victim else "fine" for o in members}


def _speaker(members: list[Member]) -> Member:
    """Nobody failed by itself: the one with most to say, else the one that leads."""
    order = {"critical": 0, "warning": 1, "info": 2}

    def weight(one: Member) -> tuple[int, bool, float]:
        drags = any(finding.id == "straggler" for finding in one.story.findings)
        # Of those that lost another one, the first knows best whom.
        since = one.failed_at if one.is_victim else 0.0
        severity = "info" if one.is_cleaned_up else one.story.severity
        return order[severity], not drags, since

    return min(members, key=weight)


def _of_root(root: Member, members: list[Member], told: dict[str, Part]) -> Story:
    cause = root.failure
    assert cause is not None
    others = [one for one in members if told[one.name] == "consequence"]
    same = [one for one in members if told[one.name] == "same"]
    gone = host_gone(root, others)
    if gone is not None:
        cause = gone
    if same and len(same) + 1 == len(members):
        text = f"All {len(members):,} workers stopped so."
        shared = dataclasses.replace(
            cause, evidence=(*cause.evidence, Evidence(text=text, strong=False))
        )
        return _retold(root.story, shared)
    place = {**cause.place, "worker": root.name}
    cause = dataclasses.replace(
        cause,
        headline=f"{root.title}: {_small(cause.headline)}",
        because=f"{cause.because} {_first(others)}".strip(),
        place=place,
        evidence=(*cause.evidence, *_survivors(root, others)),
    )
    return _retold(root.story, cause, _consequences(cause, others))


def _named(one: Member, members: list[Member]) -> Story:
    """The story of one worker, told of all."""
    story = one.story
    verdict = story.verdict
    if verdict is None or story.severity == "info" or "worker" in verdict.place:
        return story
    alike = [m for m in members if m.story.verdict and m.story.verdict.id == verdict.id]
    if len(alike) == len(members):
        return story
    verdict = dataclasses.replace(
        verdict,
        headline=f"{one.title}: {_small(verdict.headline)}",
        place={**verdict.place, "worker": one.name},
    )
    return _retold(story, verdict)


def _retold(story: Story, verdict: Verdict, more: Sequence[Verdict] = ()) -> Story:
    rest = [one for one in story.findings if one is not story.verdict]
    return dataclasses.replace(
        story,
        chip=verdict.chip or story.chip,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict, *more, *(one for one in rest if one.id != verdict.id)),
    )


def _consequences(cause: Verdict, others: list[Member]) -> list[Verdict]:
    """What the others say, one of each kind."""
    found: dict[str, Verdict] = {}
    for one in others:
        failure = one.failure
        if failure is not None and failure.id != cause.id:
            told = dataclasses.replace(
                failure,
                headline=f"{one.title}: {_small(failure.headline)}",
                caused_by=cause.id,
            )
            found.setdefault(failure.id, told)
    return list(found.values())


def _first(others: list[Member]) -> str:
    if not others:
        return ""
    return "It failed first; what the other workers report comes from that."


def _survivors(root: Member, others: list[Member]) -> Iterator[Evidence]:
    """How far the others came."""
    for one in sorted(others, key=lambda o: (o.failed_at, o.name))[:_MOST_NAMED]:
        failure = one.failure
        after = one.failed_at - root.failed_at
        when = f"{durations.words(after)} later " if after >= 1 else ""
        text = f"{one.title} had finished {_steps(one)} when it stopped {when}"
        words = failure.headline if failure else one.story.headline
        yield Evidence(
            text=f"{text.rstrip()}: {_small(words)}.",
            strong=False,
            at=failure.stopped_at if failure else Moment(),
        )
    more = len(others) - _MOST_NAMED
    if more > 0:
        yield Evidence(text=f"So did {more:,} more.", strong=False)


def _steps(one: Member) -> str:
    last = one.attempt.last_step
    return f"step {last:,}" if last else "no step"


def _without_record(
    start: Start, members: list[Member], story: Story
) -> Iterator[WorkerStory]:
    """Workers that should have been there and left nothing here."""
    known = {one.name for one in members}
    blamed = story.verdict.place.get("worker") if story.verdict else None
    for name in _expected(start):
        if name not in known:
            is_root = name == blamed
            yield WorkerStory(name=name, part="root" if is_root else "no record")


def _expected(start: Start) -> list[str]:
    """Names of all that there should be, as far as that is told."""
    for attempt in start.attempts:
        settings = attempt.start.settings if attempt.start else {}
        _, _, cluster = settings.get("env.TF_CONFIG", "").partition(", cluster ")
        if cluster:
            sizes = [part.rsplit(" ", 1) for part in cluster.split(", ")]
            return [f"{role} {n}" for role, size in sizes for n in range(int(size))]
    worker = worker_of(start.lead)
    return [f"{worker.role} {n}" for n in range(worker.size)] if worker else []


def _clock_notes(members: list[Member]) -> Iterator[str]:
    skewed = [one for one in members if one.clock_ahead_seconds]
    for one in skewed[:_MOST_NAMED]:
        seconds = one.clock_ahead_seconds or 0.0
        way = "ahead of" if seconds > 0 else "behind"
        yield (
            f"The clock of {one.name} is {abs(seconds):,.1f} s {way} that of "
            f"{members[0].name}; times are compared without that."
        )
    unknown = sum(one.clock_ahead_seconds is None for one in members)
    if unknown:
        yield (
            f"How far the clocks of {unknown:,} workers are apart cannot be told: "
            "they have too few steps in common."
        )


def _fewer_than(before: Start | None, start: Start) -> tuple[str, ...]:
    if before is None or start.size >= before.size:
        return ()
    workers = "1 worker" if start.size == 1 else f"{start.size:,} workers"
    return (f"It was started again with {workers}; before there were {before.size:,}.",)


def _name(attempt: Attempt) -> str:
    worker = worker_of(attempt)
    return worker.name if worker else attempt.id


def _small(text: str) -> str:
    """The beginning of a sentence inside of another one; names stay as they are."""
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first[1:].islower() else text
