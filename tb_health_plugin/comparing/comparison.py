"""Compares two runs signal by signal, and ranks what differs."""

import dataclasses
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_health_plugin.comparing.alignment import Align, Bad, Clock, clock_of, place
from tb_health_plugin.comparing.divergence import (
    Divergence,
    comparable,
    first_divergence,
    usual,
)
from tb_health_plugin.comparing.grid import Series, common_range, middle
from tb_health_plugin.comparing.signals import (
    SIGNALS,
    Record,
    Signal,
    Track,
    records,
    tracks,
)
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.table import Array

Side = Literal["a", "b"]
# How a signal differs. "missing": it was recorded in one run only, or too rarely.
Kind = Literal["grows", "falls", "level", "not_finite", "alike", "missing"]

# The usual number of signals that do not differ is taken from the last part.
_LAST_PART = 0.2
# It grows if it went on moving by this share of the difference after that began ...
_MOVES = 0.5
# ... while the other run moved by less than this share of it.
_STAYS = 0.25


@dataclass(frozen=True, slots=True)
class Place:
    """A place in both runs.

    Attributes:
        x: On the axis of the comparison.
        step: Of A.
        wall_time: By the clock of A.
        about: What `x` is exact to.
    """

    x: float
    step: int
    wall_time: float
    about: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One signal of both runs.

    Attributes:
        signal: Which one.
        kind: How it differs.
        a: Usual number of A in the difference, else at the end of what both cover.
        b: The same of B.
        a_rate: What A gains per unit of the axis while it differs.
        b_rate: The same of B.
        begins: Where the difference begins; None if there is none.
        ends: Where it is over; None if it lasts.
        from_start: It was there from the first step.
        strength: How much it differs, from 0 to 1.
        of: The run that became NaN or infinite, or the one that has the signal.
        turns_bad: Where A becomes NaN or infinite, after it differed already.
        bad: What it becomes there.
    """

    signal: Signal
    kind: Kind
    a: float | None = None
    b: float | None = None
    a_rate: float | None = None
    b_rate: float | None = None
    begins: Place | None = None
    ends: Place | None = None
    from_start: bool = False
    strength: float = 0.0
    of: Side | None = None
    turns_bad: Place | None = None
    bad: float | None = None

    @property
    def differs(self) -> bool:
        return self.begins is not None

    @property
    def higher(self) -> bool:
        """A is above B; a number that is none counts as above."""
        if self.a is None or self.b is None:
            return self.of == "a"
        return self.a > self.b if math.isfinite(self.a) else True


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, aligned.

    Attributes:
        asked: How they were to be aligned.
        align: How they are; by time if what was asked for is not known of both.
        a: Clock of A.
        b: Clock of B.
        compared: All signals of either run, first to last, those alike at the end.
        main: The one to tell about; None if nothing differs.
        other: What B is called: beside several others it is C, or D.
    """

    asked: Align
    align: Align
    a: Clock
    b: Clock
    compared: tuple[Compared, ...]
    main: Compared | None
    other: str = "B"


def compare(
    a: RunHistory, b: RunHistory, align: Align, explains: Collection[str] = ()
) -> Comparison:
    """Compares A, the run under question, with B.

    Args:
        a: Has at least one attempt.
        b: Has at least one attempt.
        align: How samples are matched.
        explains: Lanes that the verdict on A rests on.
    """
    assert a.latest is not None
    assert b.latest is not None
    clocks = clock_of(a.latest), clock_of(b.latest)
    asked = align
    if not all(clock.has(align) for clock in clocks):
        align = "time"
    pair = _Pair(records(a), records(b), *clocks, align)
    found = [one for one in (pair.compare(signal) for signal in SIGNALS) if one]
    found = _without_doubles(found)
    found.sort(key=_order)
    return Comparison(asked, align, *clocks, tuple(found), _main(found, explains))


def _order(one: Compared) -> tuple[object, ...]:
    """First to last, then the strongest; alike at the end, then what is missing."""
    if one.begins is None:
        return (1, one.kind == "missing", 0.0)
    return (0, -math.inf if one.from_start else one.begins.x, -one.strength)


def _without_doubles(found: list[Compared]) -> list[Compared]:
    """A lane that two signals could fill shows the one that was compared."""
    titles: dict[str, Compared] = {}
    for one in found:
        known = titles.get(one.signal.title)
        if known is None or (known.kind == "missing" and one.kind != "missing"):
            titles[one.signal.title] = one
    return list(titles.values())


def _main(found: list[Compared], explains: Collection[str]) -> Compared | None:
    """What a verdict rests on explains more than what merely differs earlier."""
    differing = [one for one in found if one.differs]
    named = [one for one in differing if one.signal.lane in explains]
    lasting = [one for one in differing if one.ends is None]
    return next(iter([*named, *lasting, *differing]), None)


class _Pair:
    """Two runs on one axis."""

    def __init__(
        self, a: list[Record], b: list[Record], of_a: Clock, of_b: Clock, align: Align
    ) -> None:
        self._a, self._b = a, b
        self._clock_a, self._clock_b = of_a, of_b
        self._align = align

    def compare(self, signal: Signal) -> Compared | None:
        """None if neither run has the signal."""
        sources = list(
            zip(tracks(signal, self._a), tracks(signal, self._b), strict=True)
        )
        in_a, in_b = (any(len(pair[i]) for pair in sources) for i in (0, 1))
        if not in_a and not in_b:
            return None
        if not in_a or not in_b:
            only = "a" if in_a else "b"
            return Compared(signal=signal, kind="missing", of=only)  # type: ignore[arg-type]
        outcomes = [self._compare(signal, *pair) for pair in sources]
        outcomes.append(self._bad_number(signal, sources))
        told = [one for one in outcomes if one is not None]
        told.sort(key=lambda one: (*_order(one)[:2],))
        return told[0] if told else Compared(signal=signal, kind="missing")

    def _compare(self, signal: Signal, of_a: Track, of_b: Track) -> Compared | None:
        a, bad_a = place(of_a, self._clock_a, self._align)
        b, bad_b = place(of_b, self._clock_b, self._align)
        bad = self._not_finite(signal, of_a, a, b, bad_a, bad_b)
        if not comparable(a, b):
            return bad
        found = first_divergence(a, b, signal.measure)
        if found is None:
            return bad or self._alike(signal, a, b)
        at = self._place(of_a, found.begins, found.about)
        ends = None if found.ends is None else self._place(of_a, found.ends)
        turns_bad = None
        if bad is not None and bad.begins is not None:
            if bad.begins.x <= at.x or bad.of == "b":
                return bad
            turns_bad = bad.begins
        return dataclasses.replace(
            _told(signal, found),
            begins=at,
            ends=ends,
            from_start=found.from_start,
            turns_bad=turns_bad,
            bad=bad_a.value if turns_bad and bad_a else None,
        )

    def _not_finite(
        self,
        signal: Signal,
        track: Track,
        a: Series,
        b: Series,
        bad_a: Bad | None,
        bad_b: Bad | None,
    ) -> Compared | None:
        """A number that is none in one run, where the other one has one."""
        if (bad_a is None) == (bad_b is None):
            return None
        of: Side = "b" if bad_a is None else "a"
        bad = bad_b if bad_a is None else bad_a
        other = a if of == "b" else b
        if bad is None or not len(other.x) or bad.x > other.x[-1]:
            return None
        before = usual(other, -math.inf, math.inf)
        return Compared(
            signal=signal,
            kind="not_finite",
            a=bad.value if of == "a" else before,
            b=bad.value if of == "b" else before,
            begins=self._place(track, bad.x),
            from_start=bool(bad.x <= other.x[0]),
            strength=1.0,
            of=of,
        )

    def _bad_number(
        self, signal: Signal, sources: list[tuple[Track, Track]]
    ) -> Compared | None:
        """The exact step of a loss or gradient that went bad, where it was found."""
        where = {"loss": "loss", "gradient_norm": "gradient"}.get(signal.id)
        found = [
            _first_bad(side[0].attempt, where) if where else None
            for side in (self._a, self._b)
        ]
        if (found[0] is None) == (found[1] is None):
            return None
        bad = found[0] or found[1]
        assert bad is not None
        of: Side = "a" if found[0] else "b"
        clock = self._clock_a if of == "a" else self._clock_b
        step = float(bad.step if bad.bad_step is None else bad.bad_step)
        x = clock.x(self._align, np.array([bad.wall_time]), np.array([step]))
        others = next(pair[1 if of == "a" else 0] for pair in sources if all(pair))
        value = math.inf if bad.value == "inf" else math.nan
        healthy = middle(others.value[np.isfinite(others.value)])
        return Compared(
            signal=signal,
            kind="not_finite",
            a=value if of == "a" else healthy,
            b=value if of == "b" else healthy,
            begins=Place(float(x[0]), int(step), bad.wall_time),
            strength=1.0,
            of=of,
        )

    def _alike(self, signal: Signal, a: Series, b: Series) -> Compared:
        shared = common_range(a, b)
        assert shared is not None
        low, high = shared
        part = (high - (high - low) * _LAST_PART, high)
        return Compared(
            signal=signal, kind="alike", a=usual(a, *part), b=usual(b, *part)
        )

    def _place(self, track: Track, x: float, about: float = 0.0) -> Place:
        """Step and time of A at a place on the axis."""
        along = self._clock_a.x(self._align, track.time, track.step)
        along = np.maximum.accumulate(along)
        step = float(np.interp(x, along, track.step))
        if self._align == "step":
            step = x
        time = float(np.interp(x, along, track.time))
        return Place(x, max(0, round(step)), time, about)


def _first_bad(attempt: Attempt, where: str) -> facts.FirstBadNumber | None:
    return next(
        (f for f in attempt.all(facts.FirstBadNumber) if f.seen_in == where), None
    )


def _told(signal: Signal, found: Divergence) -> Compared:
    """How a signal differs, from where the difference begins."""
    apart = abs(_last_third(found.a - found.b))
    moved_a, moved_b = _moved(found.a), _moved(found.b)
    kind: Kind = "level"
    grows = abs(moved_a) >= _MOVES * apart and abs(moved_b) <= _STAYS * apart
    if grows and (moved_a > 0) == found.higher:
        kind = "grows" if moved_a > 0 else "falls"
    a, b = middle(found.a), middle(found.b)
    if kind != "level":
        a, b = _last_third(found.a), _last_third(found.b)
    return Compared(
        signal=signal,
        kind=kind,
        a=a,
        b=b,
        a_rate=_rate(found.x, found.a),
        b_rate=_rate(found.x, found.b),
        strength=_strength(signal, a, b),
    )


def _last_third(values: Array) -> float:
    return middle(values[-max(1, len(values) // 3) :])


def _moved(values: Array) -> float:
    return _last_third(values) - middle(values[: max(1, len(values) // 3)])


def _rate(x: Array, values: Array) -> float | None:
    return float(np.polyfit(x, values, 1)[0]) if len(x) > 1 else None


def _strength(signal: Signal, a: float, b: float) -> float:
    """From 0 to 1: twice as much is a half, ten times as much nine tenths."""
    if signal.unit in ("fraction", "celsius"):
        whole = 1.0 if signal.unit == "fraction" else 100.0
        return min(1.0, abs(a - b) / whole)
    small, large = sorted((abs(a), abs(b)))
    if a * b < 0:
        return 1.0
    return 1 - small / large if large > 0 else 0.0


def step_ratio(a: Clock, b: Clock) -> float:
    """How many times as many steps the longer run has."""
    low, high = sorted((max(1, a.last_step), max(1, b.last_step)))
    return high / low


def differing(compared: Collection[Compared]) -> Iterator[Compared]:
    return (one for one in compared if one.differs)
