"""What a training did beside its steps, and when: starting, validating, saving."""

from collections.abc import Iterator

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.server import payloads

# More would not be told apart on any screen.
MOST_PHASES = 400
# Shorter ones cannot be seen in a run of some length.
SHORTEST_SHARE = 1 / 2_000


def phases(attempt: Attempt) -> list[payloads.PhasePayload]:
    """The phases that are long enough to be seen, in their order."""
    began, seen = attempt.started_at, attempt.last_seen_at
    if began is None or seen is None:
        return []
    shortest = (seen - began) * SHORTEST_SHARE
    found = [
        one
        for one in (
            *_starting(attempt, began),
            *_validating(attempt),
            *_saving(attempt),
        )
        if one["to_time"] - one["from_time"] >= shortest
    ]
    found.sort(key=lambda one: one["from_time"])
    return found[:MOST_PHASES]


def _starting(attempt: Attempt, began: float) -> Iterator[payloads.PhasePayload]:
    """From the start of the recording to the first epoch."""
    starts = [
        epoch.started_at
        for epoch in attempt.all(facts.EpochEnded)
        if epoch.started_at is not None
    ]
    if starts:
        yield _phase("Starting", began, min(starts), 0)


def _validating(attempt: Attempt) -> Iterator[payloads.PhasePayload]:
    """At the end of an epoch whose time was counted by itself."""
    epochs = {(e.training, e.epoch): e for e in attempt.all(facts.EpochEnded)}
    for spent in attempt.all(facts.TimeSpent):
        epoch = epochs.get((spent.training, spent.epoch))
        if epoch is None or not spent.validation_seconds or epoch.started_at is None:
            continue
        # Time that was counted over several epochs has no place of its own.
        if (spent.since or 0.0) < epoch.started_at - spent.validation_seconds:
            continue
        ended = epoch.wall_time
        yield _phase("Validation", ended - spent.validation_seconds, ended, epoch.step)


def _saving(attempt: Attempt) -> Iterator[payloads.PhasePayload]:
    for saved in attempt.all(facts.Saved):
        if saved.seconds:
            began = saved.wall_time - saved.seconds
            yield _phase("Saving", began, saved.wall_time, saved.step)


def _phase(
    what: str, from_time: float, to_time: float, step: int
) -> payloads.PhasePayload:
    return {"what": what, "from_time": from_time, "to_time": to_time, "step": step}
