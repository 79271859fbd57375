"""What can be known of a run that was logged without our hook: its scalars alone.

Last step, a loss that turned NaN, overfitting, a loss that stands still, and pauses.
How it ended and why is not among it, and is said to be missing.
"""

import itertools
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.durations import words
from tb_health_plugin.diagnosis.figures import short
from tb_health_plugin.diagnosis.rules import overfitting
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Story,
    Verdict,
)
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.scalars import Point, Scalars
from tb_health_plugin.reading.table import TIME

ATTEMPT_ID = "scalars"
CHIP = "Not monitored"

# A pause is one that is far longer than what is usual between two points of a series,
# and long enough to matter to anybody.
PAUSE_FACTOR = 20.0
PAUSE_SECONDS = 120.0
# Fewer points show no course.
LEAST_POINTS = 20
# The loss stands still if the better half of its points gained less than this.
STILL = 0.01

_LOSS = re.compile(r"(^|[^a-z])loss([^a-z]|$)", re.IGNORECASE)
_VALIDATION = re.compile(r"(^|[^a-z])(val|valid|validation|eval|test)([^a-z]|$)", re.I)

_GONE = Life(alive=False, because="Nobody recorded whether its process lives.")
_NEXT_TIME = Fix(
    title="Record the next run with one line",
    why="How a run ended, memory, waiting for data and gradients are not in scalars.",
    code='model.fit(..., callbacks=[HealthCallback("logs/run1")])',
)
_MISSING = NotMeasured(
    what="how it ended, memory, data, gradients and everything else",
    why="it was logged without Training Health",
    enable="Add HealthCallback(logdir), or start it with tb-health run.",
)


def tell_plain(scalars: Scalars) -> tuple[RunHistory, Story]:
    """The run as a history with one attempt, and what its scalars tell."""
    attempt = _attempt(scalars)
    last = scalars.last
    at = Moment(step=last.step, wall_time=last.wall_time) if last else Moment()
    known = tuple(_evidence(scalars))
    verdict = (
        _bad_loss(scalars, at, known)
        or _overfitting(attempt, at)
        or _nothing(at, known)
    )
    story = Story(
        state="unknown",
        chip=CHIP,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict,) if verdict.severity != "info" else (),
        not_measured=(_MISSING,),
    )
    return RunHistory(scalars.run, [attempt]), story


def _losses(scalars: Scalars, *, validation: bool) -> list[list[Point]]:
    """Series of losses, the longest first."""
    found = [
        series
        for (run, tag), series in scalars.series.items()
        if _LOSS.search(tag.replace("_", " "))
        and bool(_VALIDATION.search(f"{run} {tag}".replace("_", " "))) == validation
    ]
    return sorted(found, key=len, reverse=True)


def _attempt(scalars: Scalars) -> Attempt:
    attempt = Attempt(ATTEMPT_ID)
    training = _losses(scalars, validation=False)
    validation = _losses(scalars, validation=True)
    if training:
        # The loss is what people look for first; other lanes have nothing to show.
        attempt.samples.append(
            {
                TIME: [point.wall_time for point in training[0]],
                "step": [float(point.step) for point in training[0]],
                "loss": [point.value for point in training[0]],
            }
        )
    elif scalars.last:
        last = scalars.last
        attempt.samples.append({TIME: [last.wall_time], "step": [float(last.step)]})
    if training and validation and _are_epochs(validation[0]):
        for fact in _epochs(training, validation[0]):
            attempt.add(fact)
    return attempt


def _are_epochs(series: Sequence[Point]) -> bool:
    """One point per epoch: their steps count up by one."""
    steps = [point.step for point in series]
    return steps == list(range(steps[0], steps[0] + len(steps)))


def _epochs(
    training: list[list[Point]], validation: list[Point]
) -> Iterator[facts.Fact]:
    by_step = [
        {point.step: point.value for point in series}
        for series in training
        if _are_epochs(series)
    ]
    if not by_step:
        return
    yield facts.TrainingStarted(wall_time=validation[0].wall_time, training=0)
    for point in validation:
        metrics = {"val_loss": point.value}
        if point.step in by_step[0]:
            metrics["loss"] = by_step[0][point.step]
        yield facts.EpochEnded(
            wall_time=point.wall_time,
            step=point.step,
            training=0,
            epoch=point.step - validation[0].step,
            last_step=point.step,
            metrics=metrics,
        )


def _bad_loss(
    scalars: Scalars, at: Moment, known: tuple[Evidence, ...]
) -> Verdict | None:
    losses = [
        (point, f"{run}/{tag}" if run not in (".", scalars.run) else tag)
        for (run, tag), series in scalars.series.items()
        if _LOSS.search(tag.replace("_", " "))
        for point in series
        if not math.isfinite(point.value)
    ]
    if not losses:
        return None
    first, tag = min(losses, key=lambda found: found[0].wall_time)
    when = Moment(step=first.step, wall_time=first.wall_time)
    value = short(first.value)
    text = f"{tag} was {value} at step {first.step:,} for the first time."
    return Verdict(
        id="unknown",
        detail="bad loss",
        severity="critical",
        confidence="possible",
        headline=f"The loss is {value} since step {first.step:,}; "
        "scalars do not tell why",
        because="The loss itself was logged. Where it went wrong was not recorded.",
        cause_at=when,
        stopped_at=at,
        evidence=(Evidence(text=text, lane="loss", at=when), *known),
        fixes=(_NEXT_TIME,),
    )


def _overfitting(attempt: Attempt, at: Moment) -> Verdict | None:
    story = Story(state="unknown", chip=CHIP, severity="info", headline="")
    found = overfitting.judge(Case(attempt, _GONE, story))
    return found if found is not None and found.severity != "info" else None


def _nothing(at: Moment, known: tuple[Evidence, ...]) -> Verdict:
    where = f"last logged at step {at.step:,}" if at.step is not None else "no scalars"
    return Verdict(
        id="unknown",
        severity="info",
        confidence="possible",
        headline=f"Not monitored; {where}",
        because="Only scalars were logged. How it ended was not recorded.",
        cause_at=at,
        stopped_at=at,
        evidence=known,
        fixes=(_NEXT_TIME,),
    )


def _evidence(scalars: Scalars) -> Iterator[Evidence]:
    last = scalars.last
    if last is not None:
        date = datetime.fromtimestamp(last.wall_time, timezone.utc)
        at = Moment(step=last.step, wall_time=last.wall_time)
        yield Evidence(
            text=f"The last point is step {last.step:,}, {date:%Y-%m-%d %H:%M:%S} UTC.",
            at=at,
        )
    training = _losses(scalars, validation=False)
    if training:
        yield from _still(training[0])
        yield from _pauses(training[0])


def _still(series: Sequence[Point]) -> Iterator[Evidence]:
    """A loss that ended no lower than it was half-way. Often it is simply done."""
    values = [point.value for point in series]
    if len(values) < LEAST_POINTS or not all(map(math.isfinite, values)):
        return
    half, tail = series[len(series) // 2], values[-len(values) // 10 :]
    middle = values[len(values) * 2 // 5 : len(values) // 2]
    before, after = statistics.median(middle), statistics.median(tail)
    if before > 0 and after > (1 - STILL) * before:
        text = f"The loss has not fallen since step {half.step:,} ({short(after)})."
        yield Evidence(text=text, strong=False, lane="loss")


def _pauses(series: Sequence[Point]) -> Iterator[Evidence]:
    gaps = [
        (later.wall_time - earlier.wall_time, earlier, later)
        for earlier, later in itertools.pairwise(series)
    ]
    if len(gaps) < 3:
        return
    usual = statistics.median(gap for gap, _, _ in gaps)
    longest, earlier, later = max(gaps, key=lambda gap: gap[0])
    if longest > max(PAUSE_SECONDS, PAUSE_FACTOR * usual):
        text = (
            f"Nothing was logged for {words(longest)} between step {earlier.step:,} "
            f"and {later.step:,}; {words(usual)} is usual."
        )
        yield Evidence(text=text, strong=False, at=Moment(step=earlier.step))
