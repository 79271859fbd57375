"""Judges a run that goes on, again and again, at a cost that does not grow with it.

How it stands is told each time. All rules are asked when something happened that may
change the verdict, and else at an interval that grows with the run. Between two such
moments their findings stay. One that comes and goes is not shown: it must be found
twice in a row to open, and be missed twice in a row to close.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tb_health_plugin.diagnosis import story
from tb_health_plugin.diagnosis.engine import Asked, ask, conclude
from tb_health_plugin.diagnosis.pace import Team
from tb_health_plugin.diagnosis.verdict import Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.digest import bounded
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# Rules are asked this often at first, then after this share of the run's age, at last
# once a minute: what develops over hours is not missed by that.
LEAST_SECONDS = 5.0
AGE_SHARE = 0.01
MOST_SECONDS = 60.0
# Found, or missed, so often in a row.
TWICE = 2

# After any of these the rules are asked at once.
_NEWS = (
    facts.TrainingStarted,
    facts.TrainingEnded,
    facts.StopRequested,
    facts.FirstBadNumber,
    facts.Stalled,
    facts.StallEnded,
    facts.RunEnded,
    facts.ProcessEnded,
    facts.RulesChosen,
)


class LiveJudge:
    """Follows one attempt. Whoever reads it calls `look` after each refresh."""

    def __init__(self) -> None:
        self._asked: Asked | None = None
        self._asked_at = 0.0
        self._news: tuple[int, ...] = ()
        self._last: tuple[object, Story] | None = None
        self._shown: dict[str, Verdict] = {}
        self._found: dict[str, int] = {}
        self._missed: dict[str, int] = {}

    def look(
        self,
        attempt: Attempt,
        life: Life,
        *,
        team: Team | None = None,
        reader: Mapping[str, str] = MappingProxyType({}),
    ) -> Story:
        """The story as it is known now; see `engine.judge`."""
        key = (attempt.size, life, team, dict(reader))
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        told = self._tell(attempt, life, team, reader)
        self._last = (key, told)
        return told

    def _tell(
        self,
        attempt: Attempt,
        life: Life,
        team: Team | None,
        reader: Mapping[str, str],
    ) -> Story:
        small = bounded(attempt)
        told = story.tell(small, life)
        if told.state != "running":
            return conclude(ask(small, life, team=team, reader=reader))
        now = attempt.last_seen_at or 0.0
        news = tuple(len(attempt.all(kind)) for kind in _NEWS)
        began = attempt.started_at
        age = 0.0 if began is None else now - began
        apart = min(MOST_SECONDS, max(LEAST_SECONDS, AGE_SHARE * age))
        if self._asked is None or news != self._news or now - self._asked_at >= apart:
            is_first = self._asked is None
            self._asked = ask(small, life, team=team, reader=reader)
            self._asked_at, self._news = now, news
            self._settle(self._asked.found, is_first=is_first)
        asked = dataclasses.replace(
            self._asked,
            told=dataclasses.replace(
                told, silenced=self._asked.told.silenced, tuned=self._asked.told.tuned
            ),
            found=tuple(self._shown.values()),
        )
        return conclude(asked)

    def _settle(self, found: Sequence[Verdict], *, is_first: bool) -> None:
        now = {one.id: one for one in found}
        for id, one in now.items():
            self._missed.pop(id, None)
            self._found[id] = self._found.get(id, 0) + 1
            is_sure = is_first or one.confidence == "proven"
            if id in self._shown or is_sure or self._found[id] >= TWICE:
                self._shown[id] = one
        for id in [id for id in self._found if id not in now]:
            self._missed[id] = self._missed.get(id, 0) + 1
            if id not in self._shown or self._missed[id] >= TWICE:
                self._found.pop(id)
                self._missed.pop(id)
                self._shown.pop(id, None)


@dataclass(frozen=True, slots=True)
class Change:
    """A finding that is new, is told differently, or is over."""

    kind: Literal["opened", "changed", "closed"]
    finding: Verdict


def changes(before: Sequence[Verdict], after: Sequence[Verdict]) -> Iterator[Change]:
    """What is different. Numbers in the words of a finding may differ all the time."""
    known = {one.id: one for one in before}
    for one in after:
        if one.id not in known:
            yield Change("opened", one)
        elif _graded(known[one.id]) != _graded(one):
            yield Change("changed", one)
    ids = {one.id for one in after}
    for one in before:
        if one.id not in ids:
            yield Change("closed", one)


def _graded(one: Verdict) -> tuple[str, str, str | None]:
    return one.severity, one.confidence, one.detail
