"""Everything known about one run: the only thing a diagnosis may look at."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from tb_health_plugin.events import facts
from tb_health_plugin.reading.table import TIME, Table
from tb_health_plugin.reading.workers import Start, starts

F = TypeVar("F", bound=facts.Fact)


class Attempt:
    """One process that trained, from its start to its end.

    Attributes:
        id: Name of its directory; stable.
        samples: The numbers it left, one row per moment.
        period_seconds: Time between two samples as planned; 0 if unknown.
        late_seconds: How late what it writes may be seen here.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self.samples = Table()
        self.period_seconds = 0.0
        self.late_seconds = 0.0
        self._by_kind: dict[type[facts.Fact], list[facts.Fact]] = {}

    def add(self, fact: facts.Fact) -> None:
        self._by_kind.setdefault(type(fact), []).append(fact)

    def add_all(self, kind: type[F], found: Iterable[F]) -> None:
        """Adds facts of one kind, in the order they were written."""
        self._by_kind.setdefault(kind, []).extend(found)

    @property
    def size(self) -> tuple[int, int]:
        """How many facts and samples there are; nothing else ever changes."""
        return sum(map(len, self._by_kind.values())), len(self.samples)

    def kinds(self) -> tuple[type[facts.Fact], ...]:
        """Every kind of fact there is, in the order they first came."""
        return tuple(self._by_kind)

    def all(self, kind: type[F]) -> Sequence[F]:
        """All facts of `kind` in the order they were written."""
        return self._by_kind.get(kind, [])  # type: ignore[return-value]

    def last(self, kind: type[F]) -> F | None:
        found = self.all(kind)
        return found[-1] if found else None

    def until(self, wall_time: float) -> "Attempt":
        """The same attempt as it was known at that moment."""
        earlier = Attempt(self.id)
        earlier.samples = self.samples.until(wall_time)
        earlier.period_seconds = self.period_seconds
        for fact in self.everything():
            if fact.wall_time <= wall_time:
                earlier.add(fact)
        return earlier

    def everything(self) -> Iterator[facts.Fact]:
        """All facts, kind by kind."""
        for found in self._by_kind.values():
            yield from found

    @property
    def start(self) -> facts.RunStarted | None:
        found = self.all(facts.RunStarted)
        return found[0] if found else None

    @property
    def started_at(self) -> float | None:
        times = self._times()
        return min(times, default=None)

    @property
    def last_seen_at(self) -> float | None:
        times = self._times()
        return max(times, default=None)

    @property
    def last_step(self) -> int:
        """The highest step that anything of this attempt mentions."""
        steps = [f.step for found in self._by_kind.values() for f in found]
        samples = self.samples.column("step")
        if self.samples.has("step"):
            # The very last ones may not have been measured.
            known = (s for s in samples[-2:].tolist() if math.isfinite(s))
            steps.append(int(max(known, default=0.0)))
        return max(steps, default=0)

    def _times(self) -> list[float]:
        times = [
            fact.wall_time
            for found in self._by_kind.values()
            for fact in (found[0], found[-1])
        ]
        if len(self.samples):
            column = self.samples.column(TIME)
            times += [float(column[0]), float(column[-1])]
        return times


class RunHistory:
    """The attempts of one run, oldest first.

    Attributes:
        attempts: One per process, whether it came after the others or with them.
        starts: The same, those that trained together taken together.

    Args:
        run: Its name.
        attempts: What our recorder left.
        summaries: What came through the user's own summary writers. Where there is
            nothing else, these are the attempts.
        rules: What whoever reads wants of the rules; see `events/rule_choices.py`.
    """

    def __init__(
        self,
        run: str,
        attempts: Iterable[Attempt] = (),
        summaries: Iterable[Attempt] = (),
        *,
        rules: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.run = run
        self.rules = rules
        self.attempts = sorted(attempts, key=lambda a: (a.started_at or 0.0, a.id))
        self.summaries = list(summaries)
        if not self.attempts:
            self.attempts, self.summaries = self.summaries, []
        self.starts: tuple[Start, ...] = starts(self.attempts)
        self._speaker: Attempt | None = None

    def spoken_for_by(self, attempt: Attempt) -> "RunHistory":
        """The same history, with another worker of its last start as `latest`."""
        other = RunHistory(self.run, self.attempts, self.summaries, rules=self.rules)
        other._speaker = attempt
        return other

    @property
    def latest(self) -> Attempt | None:
        """The attempt that speaks for the run: of several workers one."""
        if self._speaker is not None:
            return self._speaker
        return self.starts[-1].lead if self.starts else None
