"""An exception that ended a training, as an end with its cause."""

from collections.abc import Mapping

from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Severity,
    State,
)


def failure(
    raised: Raised,
    *,
    id: str,
    chip: str,
    headline: str,
    because: str,
    detail: str | None = None,
    state: State = "failed",
    severity: Severity = "critical",
    confidence: Confidence = "proven",
    place: Mapping[str, str | int] | None = None,
    evidence: tuple[Evidence, ...] | None = None,
    fixes: tuple[Fix, ...] = (),
    explains: tuple[str, ...] = (),
) -> Ending:
    """The end; place and evidence are those of the exception unless given."""
    return ended(
        state,
        raised.at,
        id=id,
        chip=chip,
        headline=headline,
        because=because,
        detail=detail,
        severity=severity,
        confidence=confidence,
        place=raised.place if place is None else place,
        evidence=raised.evidence() if evidence is None else evidence,
        fixes=fixes,
        explains=explains,
    )
