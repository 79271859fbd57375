"""The machine-readable answer, the same everywhere: `verdict.schema.json` describes it.

The command `tb-health why --json`, the HTTP API and `tb_health_plugin.diagnose` all
end here.
"""

import math
from collections.abc import Sequence
from typing import TypedDict

from tb_health_plugin.diagnosis.engine import ENGINE_VERSION
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.official_docs import official
from tb_health_plugin.diagnosis.together import StartStory, WorkerStory
from tb_health_plugin.diagnosis.verdict import Moment, NotMeasured, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt, RunHistory

# Rises when an answer of before would no longer fit the schema.
SCHEMA_VERSION = 1

# Fewer steps than this tell nothing about learning, speed or memory.
ENOUGH_STEPS = 10


class MomentPayload(TypedDict):
    """A place in the run."""

    step: int | None
    epoch: int | None
    wall_time: float | None


class EvidencePayload(TypedDict):
    """One observation."""

    text: str
    strength: str
    lane: str | None
    step: int | None
    wall_time: float | None


class FixPayload(TypedDict):
    """Something to change."""

    title: str
    why: str
    code: str | None


class DocPayload(TypedDict):
    """An official page."""

    name: str
    url: str


class VerdictPayload(TypedDict):
    """A cause."""

    id: str
    detail: str | None
    severity: str
    confidence: str
    headline: str
    because: str
    cause_at: MomentPayload
    stopped_at: MomentPayload
    place: dict[str, str | int]
    evidence: list[EvidencePayload]
    fixes: list[FixPayload]
    docs: list[DocPayload]
    caused_by: str | None


class NotMeasuredPayload(TypedDict):
    """What nobody looked at."""

    what: str
    why: str
    enable: str | None


class WorkerPayload(TypedDict):
    """One of several workers."""

    name: str
    part: str
    attempt: str | None
    host: str | None
    pid: int | None
    state: str | None
    headline: str
    cause: str | None
    step: int | None
    started_at: float | None
    last_seen_at: float | None
    clock_ahead_seconds: float | None


class WorkersPayload(TypedDict):
    """The workers that trained together."""

    size: int
    notes: list[str]
    table: list[WorkerPayload]


class EarlierPayload(TypedDict):
    """A start of the same run before the one that is told of."""

    state: str
    headline: str
    step: int
    started_at: float | None


class SilencedPayload(TypedDict):
    """A rule that was not asked."""

    rule: str
    by: str


class TunedPayload(TypedDict):
    """A number of a rule that somebody set."""

    name: str
    value: float
    default: float
    by: str


class Answer(TypedDict):
    """How a run stands, and why."""

    schema_version: int
    engine_version: int
    run: str
    state: str
    chip: str
    headline: str
    step: int
    attempts: int
    started_at: float | None
    last_seen_at: float | None
    verdict: VerdictPayload
    findings: list[VerdictPayload]
    not_measured: list[NotMeasuredPayload]
    silenced: list[SilencedPayload]
    tuned: list[TunedPayload]
    workers: WorkersPayload | None
    partial: bool
    earlier: list[EarlierPayload]


def answer(
    history: RunHistory,
    story: Story,
    start: StartStory | None = None,
    earlier: Sequence[StartStory] = (),
) -> Answer:
    """The answer for the latest attempt of a run, or for the workers of one start."""
    attempt = history.latest
    assert attempt is not None
    verdict = story.verdict
    is_fine = story.state == "finished" and story.severity == "info"
    if verdict is None or is_fine:
        verdict = _nothing_found(attempt, story)
    return {
        "schema_version": SCHEMA_VERSION,
        "engine_version": ENGINE_VERSION,
        "run": history.run,
        "state": story.state,
        "chip": story.chip,
        "headline": story.headline,
        "step": attempt.last_step,
        "attempts": len(history.starts),
        "started_at": attempt.started_at,
        "last_seen_at": attempt.last_seen_at,
        "verdict": verdict_payload(verdict),
        "findings": [verdict_payload(one) for one in story.findings],
        "not_measured": not_measured(attempt, story),
        "silenced": silenced(story),
        "tuned": tuned(story),
        "workers": workers_payload(start) if start else None,
        "partial": False,
        "earlier": [
            {
                "state": one.story.state,
                "headline": one.story.headline,
                "step": one.attempt.last_step,
                "started_at": one.attempt.started_at,
            }
            for one in earlier
        ],
    }


def workers_payload(start: StartStory) -> WorkersPayload | None:
    """All workers of one start; None if it was alone."""
    if not start.workers:
        return None
    return {
        "size": start.size,
        "notes": list(start.notes),
        "table": [_worker(one) for one in start.workers],
    }


def _worker(worker: WorkerStory) -> WorkerPayload:
    attempt, story = worker.attempt, worker.story
    start = attempt.start if attempt else None
    verdict = story.verdict if story else None
    return {
        "name": worker.name,
        "part": worker.part,
        "attempt": attempt.id if attempt else None,
        "host": start.host if start else None,
        "pid": start.pid if start else None,
        "state": story.state if story else None,
        "headline": story.headline if story else "It left no record here",
        "cause": verdict.id if verdict else None,
        "step": attempt.last_step if attempt else None,
        "started_at": attempt.started_at if attempt else None,
        "last_seen_at": attempt.last_seen_at if attempt else None,
        "clock_ahead_seconds": worker.clock_ahead_seconds,
    }


def verdict_payload(verdict: Verdict) -> VerdictPayload:
    return {
        "id": verdict.id,
        "detail": verdict.detail,
        "severity": verdict.severity,
        "confidence": verdict.confidence,
        "headline": verdict.headline,
        "because": verdict.because,
        "cause_at": _moment(verdict.cause_at),
        "stopped_at": _moment(verdict.stopped_at),
        "place": dict(verdict.place),
        "evidence": [
            {
                "text": one.text,
                "strength": "strong" if one.strong else "supporting",
                "lane": one.lane,
                "step": one.at.step,
                "wall_time": _number(one.at.wall_time),
            }
            for one in verdict.evidence
        ],
        "fixes": [
            {"title": fix.title, "why": fix.why, "code": fix.code}
            for fix in verdict.fixes
        ],
        "docs": [{"name": doc.name, "url": doc.url} for doc in official(verdict.id)],
        "caused_by": verdict.caused_by,
    }


def not_measured(attempt: Attempt, story: Story) -> list[NotMeasuredPayload]:
    """What the recorder could not record, and what rules missed."""
    start = attempt.start
    recorded = [
        NotMeasured(what=one.what, why=one.why)
        for one in (start.not_recorded if start else ())
    ]
    return [
        {"what": one.what, "why": one.why, "enable": one.enable}
        for one in (*story.not_measured, *recorded)
    ]


def silenced(story: Story) -> list[SilencedPayload]:
    """Rules that somebody does not want to hear of."""
    return [{"rule": one.rule, "by": one.by} for one in story.silenced]


def tuned(story: Story) -> list[TunedPayload]:
    """Numbers of rules that somebody set."""
    return [
        {"name": one.name, "value": one.value, "default": one.default, "by": one.by}
        for one in story.tuned
    ]


def _nothing_found(attempt: Attempt, story: Story) -> Verdict:
    """The answer if there is nothing to explain."""
    at = stopped_at(attempt)
    is_short = story.state == "finished" and attempt.last_step < ENOUGH_STEPS
    is_unknown = story.state == "unknown" or not attempt.all(facts.TrainingStarted)
    if is_unknown and story.state not in ("running", "finished"):
        id, because = "unknown", "No training was recorded."
    elif is_short:
        id, because = "too_short", "It was too short to judge how it trained."
    else:
        id, because = "healthy", "Everything that was measured looks as it should."
    return Verdict(
        id=id,
        severity="info",
        confidence="likely",
        headline=story.headline,
        because=because,
        cause_at=at,
        stopped_at=at,
    )


def _moment(moment: Moment) -> MomentPayload:
    return {
        "step": moment.step,
        "epoch": moment.epoch,
        "wall_time": _number(moment.wall_time),
    }


def _number(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
