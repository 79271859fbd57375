"""Workers lost to the others without a failure of their own that says why."""

import dataclasses

from tb_health_plugin.diagnosis import durations, hosting
from tb_health_plugin.diagnosis.first_failure import Member
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

_SAME_STEPS = Fix(
    title="Give every worker the same steps",
    why="Each step joins all workers. One whose data ends earlier leaves the others "
    "waiting.",
    code="dataset = dataset.repeat()  # and steps_per_epoch, the same for all",
)


def _same_steps(attempt: Attempt) -> Fix:
    """With the steps that an epoch had in the worker that was done first."""
    epochs = attempt.all(facts.EpochEnded)
    steps = (epochs[0].last_step or 0) - (epochs[0].first_step or 0) if epochs else 0
    if steps < 1:
        return _SAME_STEPS
    code = f"dataset = dataset.repeat()\nmodel.fit(..., steps_per_epoch={steps})"
    return dataclasses.replace(_SAME_STEPS, code=code)


_NETWORK = Fix(
    title="Look at the network between their machines",
    why="Both went on and neither could reach the other.",
)
_HOST = Fix(
    title="Look at that machine, and at who runs it",
    why="A loss of power, a machine that was taken back and a container that was "
    "removed look alike from here.",
)


def fewer_batches(early: Member, members: list[Member]) -> Story:
    """One was done, and the others wait for it to join their next step."""
    missed = next(one for one in members if one.is_victim)
    failure = missed.failure
    assert failure is not None
    done, at = early.attempt.last_step, stopped_at(early.attempt)
    name = early.title
    verdict = Verdict(
        id="peer_lost",
        detail="out_of_step",
        severity="critical",
        confidence="likely",
        headline=f"{name} was done after step {done:,}; the others had more to do",
        because="Workers in step need each other in every step. This one ended in "
        "good order, and the others then missed it.",
        cause_at=at,
        stopped_at=failure.stopped_at,
        place={"worker": early.name},
        evidence=(
            Evidence(text=f"{name} finished in good order at step {done:,}.", at=at),
            Evidence(
                text=f"{missed.title} had more to do after "
                f"step {missed.attempt.last_step:,}: {failure.headline}.",
                at=failure.stopped_at,
            ),
        ),
        fixes=(_same_steps(early.attempt),),
        chip="Out of step",
    )
    return dataclasses.replace(
        missed.story,
        chip=verdict.chip,
        severity="critical",
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict, *missed.story.findings),
    )


def in_another_phase(members: list[Member]) -> tuple[Member, Story] | None:
    """Some validate while others train: each waits for a step the others never do."""
    phases = {one.name: _phase(one) for one in members if one.is_victim}
    validate = [name for name, phase in phases.items() if phase == "validation"]
    train = [name for name, phase in phases.items() if phase == "training"]
    if not validate or not train:
        return None
    fewer = min((validate, train), key=len)
    root = next(one for one in members if one.name == fewer[0])
    other = next(
        o for o in members if o.name in (train if fewer is validate else validate)
    )
    failure = root.failure
    assert failure is not None
    does = {"validation": "validates", "training": "trains"}
    verdict = dataclasses.replace(
        failure,
        detail="out_of_step",
        confidence="likely",
        headline=f"{root.title} {does[phases[root.name]]} while {other.name} "
        f"{does[phases[other.name]]}: each waits for the other",
        because="Workers in step must do the same at the same time. Their records say "
        "that they stand still in different phases.",
        place={**failure.place, "worker": root.name},
        evidence=tuple(
            Evidence(
                text=f"{one.title} stands still since step {one.attempt.last_step:,}, "
                f"in {phases[one.name]}.",
                at=one.failure.cause_at,
            )
            for one in (root, other)
            if one.failure
        ),
        fixes=(_SAME_STEPS,),
        chip="Out of step",
    )
    found = [one for one in root.story.findings if one.id != "peer_lost"]
    story = dataclasses.replace(
        root.story,
        chip=verdict.chip,
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict, *found),
    )
    return root, story


def _phase(one: Member) -> str:
    """What it was doing when it stopped getting on; empty if that is not on record."""
    stall = one.attempt.last(facts.Stalled)
    phase = (stall.phase or "") if stall else ""
    return "validation" if phase.startswith("validation") else phase


def lost_each_other(members: list[Member]) -> Story | None:
    """One blames another one that blames it, too, or nobody; neither had failed."""
    victims = {
        one.name: one
        for one in members
        if one.is_victim and one.failure and one.failure.detail != "out_of_step"
    }
    blames = {name: _blamed(one) for name, one in victims.items()}
    pairs = [
        (name, blamed)
        for name, blamed in blames.items()
        if blamed in victims and blames[blamed] in (name, None)
    ]
    if not pairs:
        return None
    named = [victims[name] for name in sorted(pairs[0])]
    first = min(named, key=lambda one: one.failed_at)
    failure = first.failure
    assert failure is not None
    names = f"{named[0].title} and {named[1].name}"
    verdict = Verdict(
        id="peer_lost",
        detail="network",
        severity="critical",
        confidence="possible",
        headline=f"{names} lost each other, and neither had failed",
        because="Each says that the other one was lost, and neither has a failure of "
        "its own on record. A network that is cut looks like this.",
        cause_at=failure.cause_at,
        stopped_at=failure.stopped_at,
        evidence=tuple(
            Evidence(
                text=f"{one.title} was alive and said: {one.failure.headline}.",
                at=one.failure.stopped_at,
            )
            for one in named
            if one.failure
        ),
        fixes=(
            dataclasses.replace(
                _NETWORK, code=hosting.reached(named[0].attempt, named[1].attempt)
            ),
        ),
        chip="Lost each other",
    )
    return dataclasses.replace(
        first.story,
        chip=verdict.chip,
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict, *(f for f in first.story.findings if f.id != "peer_lost")),
    )


def _blamed(one: Member) -> str | None:
    """The worker that it says was lost, if it names one."""
    blamed = one.failure.place.get("worker") if one.failure else None
    return None if blamed is None else str(blamed)


def host_gone(root: Member, others: list[Member]) -> Verdict | None:
    """Trainer and watcher of one fell silent at once, while others went on."""
    failure, record = root.failure, root.attempt
    if failure is None or failure.id != "unknown" or not others:
        return None
    if record.last(facts.ProcessEnded) or record.last(facts.RunEnded):
        return None
    on = max(one.failed_at for one in others) - root.failed_at
    return dataclasses.replace(
        failure,
        id="peer_lost",
        detail="host_gone",
        confidence="likely",
        because="Its trainer and the watcher beside it fell silent in the same moment, "
        "so more than the process went away.",
        evidence=(
            *failure.evidence,
            Evidence(
                text=f"Others went on for {durations.words(max(0.0, on))} after it "
                "was last heard of.",
                strong=False,
            ),
        ),
        fixes=(
            dataclasses.replace(
                _HOST, code=hosting.log_of_machine(record, root.failed_at)
            ),
        ),
        chip="Worker lost",
    )
