"""A run as rules see it: facts sorted by training, and the questions they all ask."""

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.verdict import Moment, Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Array, Table, measured

if TYPE_CHECKING:
    # It is made from trainings, so it imports this module.
    from tb_health_plugin.diagnosis.pace import Pace

F = TypeVar("F", bound=facts.Fact)


@dataclass(frozen=True, slots=True)
class Training:
    """One call of `fit`, or one loop, with everything that was recorded of it."""

    started: facts.TrainingStarted
    ended: facts.TrainingEnded | None
    epochs: tuple[facts.EpochEnded, ...]
    inspections: tuple[facts.Inspected, ...]
    batches: tuple[facts.BatchSeen, ...]
    spent: tuple[facts.TimeSpent, ...]
    stops: tuple[facts.StopRequested, ...]
    bad_numbers: tuple[facts.FirstBadNumber, ...]
    saves: tuple[facts.Saved, ...]

    def setting(self, name: str) -> str | None:
        """A setting by its name in `events/settings.py`; None if it was not seen."""
        return self.started.settings.get(name)

    def number(self, name: str) -> float | None:
        """A setting that is a number; None if it is not one."""
        try:
            return float(self.started.settings.get(name, ""))
        except ValueError:
            return None

    def metric(self, name: str) -> list[float]:
        """A metric of each epoch that reported it, in order; may hold NaN."""
        return [e.metrics[name] for e in self.epochs if name in e.metrics]

    @property
    def metric_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for e in self.epochs for name in e.metrics))

    @property
    def steps(self) -> int:
        """Steps finished, as far as facts tell."""
        first = self.started.first_step or 0
        seen = (
            *self.epochs,
            *self.inspections,
            *self.spent,
            *([self.ended] if self.ended else []),
        )
        return max((fact.step - first for fact in seen), default=0)

    @property
    def output_layers(self) -> list[facts.Layer]:
        return [layer for layer in self.started.layers if layer.is_output]

    def at(self, fact: facts.Fact, epoch: int | None = None) -> Moment:
        """The moment of a fact, with the epoch it fell into, counted from 1."""
        if epoch is None:
            epoch = self.epoch_of(fact.step)
        shown = None if epoch is None else epoch + 1
        return Moment(step=fact.step, epoch=shown, wall_time=fact.wall_time)

    def epoch_of(self, step: int) -> int | None:
        """The epoch, counted from 0, in which `step` steps were finished."""
        for epoch in self.epochs:
            if epoch.last_step is not None and step <= epoch.last_step:
                return epoch.epoch
        if self.epochs and self.epochs[-1].epoch is not None:
            return self.epochs[-1].epoch + 1
        return self.started.initial_epoch


class Case:
    """Everything a rule may look at.

    Attributes:
        attempt: The record.
        life: Whether its process lives.
        story: How it stands or ended, before any rule has spoken.
        team: What it and the workers that train with it spend their time on, by
            attempt; empty if it is alone.
    """

    def __init__(
        self,
        attempt: Attempt,
        life: Life,
        story: Story,
        team: "Mapping[str, Pace] | None" = None,
        tuned: Mapping[Option, float] | None = None,
    ) -> None:
        self.team: Mapping[str, Pace] = team or {}
        self.attempt = attempt
        self.life = life
        self.story = story
        self._tuned = tuned or {}

    def tuned(self, option: Option) -> float:
        """The number that counts for this run: the user's, else the rule's own."""
        return self._tuned.get(option, option.default)

    @property
    def samples(self) -> Table:
        """What the watcher measured, one row per moment."""
        return self.attempt.samples

    @property
    def start(self) -> facts.RunStarted | None:
        return self.attempt.start

    @property
    def stopped_at(self) -> Moment:
        return stopped_at(self.attempt)

    @functools.cached_property
    def trainings(self) -> tuple[Training, ...]:
        return trainings_of(self.attempt)

    @property
    def training(self) -> Training | None:
        """The last one: the one that stopped, if any did."""
        return self.trainings[-1] if self.trainings else None

    @property
    def is_over(self) -> bool:
        """Nothing more will be recorded of it."""
        return self.story.state not in ("running", "stuck")

    def series(self, name: str) -> tuple[Array, Array]:
        """Times and values of a column where it was measured and is finite."""
        values = self.samples.column(name)
        times = self.samples.column("wall_time")
        known = measured(values)
        known &= values == values
        return times[known], values[known]

    def said(self, pattern: str) -> facts.ProgramSaid | None:
        """The first warning or error whose text matches, ignoring case."""
        for said in self.attempt.all(facts.ProgramSaid):
            if re.search(pattern, said.message or "", re.IGNORECASE):
                return said
        return None


def finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def trainings_of(attempt: Attempt) -> tuple[Training, ...]:
    """All trainings of an attempt, in order."""
    return tuple(_trainings(attempt))


def _trainings(attempt: Attempt) -> Iterator[Training]:
    # A start is told again when more is known: a model may be built by its first step.
    latest = {one.training: one for one in attempt.all(facts.TrainingStarted)}
    for one in sorted(latest.values(), key=lambda s: (s.training or 0, s.wall_time)):

        def of(
            kind: type[F], number: int | None = one.training, attempt: Attempt = attempt
        ) -> tuple[F, ...]:
            # Every kind asked for here says which training it belongs to.
            found = attempt.all(kind)
            return tuple(fact for fact in found if fact.training == number)  # type: ignore[attr-defined]

        ended = of(facts.TrainingEnded)
        yield Training(
            started=one,
            ended=ended[-1] if ended else None,
            epochs=_latest_by_epoch(of(facts.EpochEnded)),
            inspections=of(facts.Inspected),
            batches=of(facts.BatchSeen),
            spent=of(facts.TimeSpent),
            stops=of(facts.StopRequested),
            bad_numbers=of(facts.FirstBadNumber),
            saves=of(facts.Saved),
        )


def _latest_by_epoch(
    epochs: tuple[facts.EpochEnded, ...],
) -> tuple[facts.EpochEnded, ...]:
    """A loop without epochs writes its only one again and again: the last counts."""
    return tuple({epoch.epoch: epoch for epoch in epochs}.values())
