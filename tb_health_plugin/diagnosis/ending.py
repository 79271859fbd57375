"""The end of a run: a state, a chip and the verdict behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Severity,
    State,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, for its list and for its page."""

    state: State
    chip: str
    verdict: Verdict


def ended(
    state: State,
    at: Moment,
    *,
    id: str,
    chip: str,
    headline: str,
    because: str,
    detail: str | None = None,
    severity: Severity = "critical",
    confidence: Confidence = "proven",
    since: Moment | None = None,
    place: Mapping[str, str | int] = MappingProxyType({}),
    evidence: tuple[Evidence, ...] = (),
    fixes: tuple[Fix, ...] = (),
    explains: tuple[str, ...] = (),
) -> Ending:
    """An end and its cause, which came at the same moment unless said otherwise.

    Args:
        state: How the run is counted.
        at: When it ended.
        id: Of the verdict, as all that follows.
        chip: The same for list and page.
        headline: See `Verdict`.
        because: See `Verdict`.
        detail: See `Verdict`.
        severity: See `Verdict`.
        confidence: See `Verdict`.
        since: When the cause came, if that was earlier.
        place: See `Verdict`.
        evidence: See `Verdict`.
        fixes: See `Verdict`.
        explains: See `Verdict`.
    """
    verdict = Verdict(
        id=id,
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        because=because,
        cause_at=since or at,
        stopped_at=at,
        place=place,
        evidence=evidence,
        fixes=fixes,
        chip=chip,
        explains=explains,
    )
    return Ending(state, chip, verdict)
