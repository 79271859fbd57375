"""When each finding would first have been known, had somebody looked."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import Moment, Verdict
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# Moments of a run at which it is judged again; its facts come on top.
LOOKS = 200

_ALIVE = Life(alive=True, because="It was running then.")


@dataclass(frozen=True, slots=True)
class FirstKnown:
    """A finding, and the moment from which on it could have been known.

    Attributes:
        finding: As it stands at the end.
        at: The moment.
        seconds_before_end: Time from then to the end of the record.
    """

    finding: Verdict
    at: Moment
    seconds_before_end: float


def replay(
    attempt: Attempt, life: Life, *, reader: Mapping[str, str] = MappingProxyType({})
) -> list[FirstKnown]:
    """Every finding of a run with the moment it was first known, earliest first.

    A finding counts from the moment on from which it never went away again.
    """
    findings = {one.id: one for one in judge(attempt, life, reader=reader).findings}
    begin, end = attempt.started_at, attempt.last_seen_at
    if begin is None or end is None:
        return []
    known_since: dict[str, Moment] = {}
    for moment in _moments(attempt, begin, end):
        then = attempt.until(moment)
        seen = {one.id for one in judge(then, _ALIVE, reader=reader).findings}
        for id in findings:
            if id not in seen:
                known_since.pop(id, None)
            else:
                known_since.setdefault(id, stopped_at(then))
    last = stopped_at(attempt)
    result = []
    for id, finding in findings.items():
        at = known_since.get(id, last)
        result.append(FirstKnown(finding, at, end - (at.wall_time or end)))
    return sorted(result, key=lambda one: -one.seconds_before_end)


def _moments(attempt: Attempt, begin: float, end: float) -> list[float]:
    spread = {begin + (end - begin) * i / LOOKS for i in range(1, LOOKS)}
    told = sorted({fact.wall_time for fact in attempt.everything()})
    # A long run has more facts than looks worth taking.
    every = max(1, len(told) // LOOKS)
    return sorted(m for m in spread | set(told[::every]) if m < end)
