"""Who stopped a training before its last epoch, in words."""

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import Evidence, Moment, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

# Our own hooks, as the record names them.
OURS = ("HealthCallback", "watch")


def last_stop(
    attempt: Attempt, begun: facts.TrainingStarted
) -> facts.StopRequested | None:
    """The request that ended this training; None if nobody asked."""
    stops = [
        stop
        for stop in attempt.all(facts.StopRequested)
        if stop.training == begun.training
    ]
    return stops[-1] if stops else None


def who(stop: facts.StopRequested) -> str:
    """As in "EarlyStopping", "Goal (train.py:33)" or "train.py:33"."""
    line = ""
    if stop.file and stop.line:
        line = f"{stop.file.rsplit('/', 1)[-1]}:{stop.line}"
    if stop.callback and line and not stop.is_keras:
        return f"{stop.callback} ({line})"
    return stop.callback or line or "the program"


def story(
    attempt: Attempt, stop: facts.StopRequested, done: int, planned: int
) -> Story:
    """A training that was stopped as somebody wanted."""
    at = f"step {attempt.last_step:,}"
    if stop.callback == "TerminateOnNaN":
        return _on_nan(attempt, stop)
    if stop.callback in OURS:
        return _as_asked(stop, at)
    if stop.callback == "EarlyStopping" and stop.is_keras is not False:
        return Story(
            state="ended_early",
            chip="Early stopping",
            severity="info",
            headline=f"Stopped by EarlyStopping at {at}, as configured",
        )
    return Story(
        state="ended_early",
        chip="Stopped early",
        severity="info",
        headline=f"Stopped by {who(stop)} after {done:,} of {planned:,} epochs",
    )


def _as_asked(stop: facts.StopRequested, at: str) -> Story:
    """We stopped it ourselves, because the user had asked for that."""
    found = stop.settings.get("stopped_for", "")
    why = f" for {found!r}" if found else ""
    return Story(
        state="ended_early",
        chip="Stopped as asked",
        severity="info",
        headline=f"Stopped by Training Health at {at}{why}, as stop_on asked",
    )


def _on_nan(attempt: Attempt, stop: facts.StopRequested) -> Story:
    headline = f"Stopped by TerminateOnNaN at step {attempt.last_step:,}"
    verdict = None
    if not attempt.all(facts.FirstBadNumber):
        # Nobody looked for the place where it began: the stop is all that is known.
        verdict = _nan(attempt, stop, headline).verdict
    return Story(
        state="ended_early",
        chip="NaN",
        severity="critical",
        headline=headline,
        verdict=verdict,
    )


def _nan(attempt: Attempt, stop: facts.StopRequested, headline: str) -> Ending:
    at = Moment(
        step=stop.step,
        epoch=None if stop.epoch is None else stop.epoch + 1,
        wall_time=stop.wall_time,
    )
    verdict = Verdict(
        id="nan_op",
        severity="critical",
        confidence="possible",
        headline=headline,
        because="The callback saw a loss that is NaN or infinite; where it began was "
        "not recorded.",
        cause_at=at,
        stopped_at=stopped_at(attempt),
        evidence=(Evidence(text="TerminateOnNaN stopped the training.", at=at),),
        chip="NaN",
    )
    return Ending("ended_early", "NaN", verdict)
