"""The shape of an answer: what happened, where, how we know, and how sure we are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal[
    "running", "stuck", "finished", "ended_early", "failed", "died", "unknown"
]
Severity = Literal["info", "warning", "critical"]
Confidence = Literal["proven", "likely", "possible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A place in the run. `epoch` counts from 1, as people do."""

    step: int | None = None
    epoch: int | None = None
    wall_time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One observation: what was seen, with its number and its moment.

    Attributes:
        text: The observation, as a sentence.
        strong: It would carry the verdict alone; else it only supports it.
        lane: The lane of the timeline that shows it.
        at: When it was.
    """

    text: str
    strong: bool = True
    lane: str | None = None
    at: Moment = Moment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Something to change, the observation it rests on, and the line to paste."""

    title: str
    why: str
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A cause. `id` is a word of the published vocabulary and never changes.

    Attributes:
        chip: The cause in at most three words, for the run list.
        explains: Ids of other findings that come from this one, if they are there.
        caused_by: Id of the finding this one comes from.
    """

    id: str
    severity: Severity
    confidence: Confidence
    headline: str
    because: str
    cause_at: Moment
    stopped_at: Moment
    detail: str | None = None
    place: Mapping[str, str | int] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    chip: str = ""
    explains: tuple[str, ...] = ()
    caused_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """Something a rule needed and nobody recorded: it is not "not seen".

    Attributes:
        what: The thing in words a user knows: "gradients".
        why: The reason, as the rest of a sentence that begins "because".
        enable: What to do to have it next time; None if nothing helps.
    """

    what: str
    why: str
    enable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silenced:
    """A rule that was not asked, because somebody does not want to hear of it.

    Attributes:
        rule: Its id.
        by: Who said so: "run" or "reader".
    """

    rule: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """A number of a rule that somebody set.

    Attributes:
        name: Id of the rule, a dot, and the name of the number.
        value: What it was set to.
        default: What it would be.
        by: Who said so: "run" or "reader".
    """

    name: str
    value: float
    default: float
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """How a run stands, in the words of the run list.

    Attributes:
        state: For filters and counts.
        chip: The state or cause in at most three words.
        severity: How much it matters.
        headline: The same in one sentence.
        verdict: Why it stopped; None if there is nothing to explain.
        findings: Everything found, the root cause first; the verdict is among them.
        not_measured: What could not be judged, because nobody recorded it.
        silenced: Rules that were not asked, because somebody does not want them.
        tuned: Numbers of rules that somebody set.
    """

    state: State
    chip: str
    severity: Severity
    headline: str
    verdict: Verdict | None = None
    findings: tuple[Verdict, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    tuned: tuple[Tuned, ...] = ()
