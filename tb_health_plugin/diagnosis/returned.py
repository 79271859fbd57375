"""A training that gave control back: as planned, early, short, or in trouble after."""

import dataclasses

from tb_health_plugin.diagnosis import endings, exceptions, exhausted, stops
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Severity, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

# What strikes a program within this time after its training belongs to the run: saving
# and evaluating. Later it is another story, as in a sweep of many trainings.
BELONGS_SECONDS = 60.0

# Below this nothing can be judged: not even one warm-up is over.
TOO_SHORT_STEPS = 10

# These stop within an epoch, also in the last one.
_AT_ANY_TIME = ("TerminateOnNaN", *stops.OURS)
# What a program may do on purpose and go on.
_WANTED = ("KeyboardInterrupt", "SystemExit")
# The work is lost if this strikes before anything was saved.
_LOSES_THE_MODEL = ("checkpoint_failure", "disk_full")


def tell(attempt: Attempt, failed: Story | None) -> Story:
    """The story of a training that returned.

    Args:
        attempt: Its record.
        failed: What Python reported as the program ended, if that was an exception.
    """
    ended = attempt.last(facts.TrainingEnded)
    assert ended is not None
    story = _short(attempt) or _plain(attempt, ended)
    story = _after(attempt, ended, story, failed)
    return story if story.verdict is not None else _caught(attempt, story)


def with_trouble(attempt: Attempt, story: Story, failed: Story | None) -> Story:
    """The same story, if nothing struck the program right after."""
    ended = attempt.last(facts.TrainingEnded)
    return _after(attempt, ended, story, failed) if ended else story


def _after(
    attempt: Attempt, ended: facts.TrainingEnded, story: Story, failed: Story | None
) -> Story:
    trouble = _trouble(attempt, ended, failed)
    if trouble is None or (story.verdict and story.verdict.severity != "info"):
        return story
    what, verdict = trouble
    done = "finished" if story.state == "finished" else "ended early"
    headline = f"The training {done} at step {attempt.last_step:,}, then {what}"
    is_saved = any(saved.ok for saved in attempt.all(facts.Saved))
    is_lost = verdict.id in _LOSES_THE_MODEL and not is_saved
    severity: Severity = "critical" if is_lost else "warning"
    if verdict.severity == "info":
        severity = "info"
    verdict = dataclasses.replace(verdict, severity=severity, headline=headline)
    return dataclasses.replace(
        story,
        chip="Failed afterwards",
        severity=verdict.severity,
        headline=headline,
        verdict=verdict,
    )


def _plain(attempt: Attempt, ended: facts.TrainingEnded) -> Story:
    begun = attempt.last(facts.TrainingStarted)
    assert begun is not None
    planned = (begun.planned_epochs or 0) - (begun.initial_epoch or 0)
    done = ended.epochs_done or 0
    at = f"step {attempt.last_step:,}"
    stop = stops.last_stop(attempt, begun)
    if stop is not None and (done < planned or stop.callback in _AT_ANY_TIME):
        return stops.story(attempt, stop, done, planned)
    if done < planned:
        return Story(
            state="ended_early",
            chip="Ended early",
            severity="info",
            headline=f"Ended at {at}, after {done:,} of {planned:,} epochs",
        )
    short = "; too short to judge" if attempt.last_step < TOO_SHORT_STEPS else ""
    return Story(
        state="finished",
        chip="Finished",
        severity="info",
        headline=f"Finished as planned at {at}{short}",
    )


def _short(attempt: Attempt) -> Story | None:
    """All epochs were run, but some had fewer steps than planned."""
    verdict = exhausted.verdict(attempt)
    if verdict is None:
        return None
    return Story(
        state="finished",
        chip=verdict.chip,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
    )


def _caught(attempt: Attempt, story: Story) -> Story:
    """An exception left a training before this one, and the program went on."""
    failures = [
        one
        for one in attempt.all(facts.TrainingEnded)
        if one.reason == "raised" and one.exception not in _WANTED
    ]
    if not failures:
        return story
    raised = Raised.by(attempt, failures[-1])
    verdict = exceptions.explain(raised).verdict
    again = _was_done_again(attempt, raised)
    verdict = dataclasses.replace(verdict, severity="info" if again else "warning")
    if again:
        return dataclasses.replace(story, verdict=verdict)
    return dataclasses.replace(
        story,
        chip=verdict.chip,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
    )


def _was_done_again(attempt: Attempt, raised: Raised) -> bool:
    """A later training had that plan or a longer one and kept it.

    It was a retry, the next trial, or a mistake that was put right.
    """
    failed = raised.training
    if failed is None:
        return False
    for begun in attempt.all(facts.TrainingStarted):
        if (begun.training or 0) <= (failed.training or 0):
            continue
        if (begun.planned_epochs or 0) < (failed.planned_epochs or 0):
            continue
        for ended in attempt.all(facts.TrainingEnded):
            planned = (begun.planned_epochs or 0) - (begun.initial_epoch or 0)
            is_its = ended.training == begun.training and ended.reason != "raised"
            if is_its and (ended.epochs_done or 0) >= planned:
                return True
    return False


def _trouble(
    attempt: Attempt, ended: facts.TrainingEnded, failed: Story | None
) -> tuple[str, Verdict] | None:
    """What struck the program right after, in words and as a verdict."""
    end = attempt.last(facts.RunEnded)
    if failed is not None and failed.verdict is not None and end is not None:
        if end.wall_time - ended.wall_time > BELONGS_SECONDS:
            return None
        return f"{end.exception or 'an exception'} stopped the program", failed.verdict
    seen = attempt.last(facts.ProcessEnded)
    if seen is None or seen.signal is None or end is not None:
        return None
    if seen.wall_time - ended.wall_time > BELONGS_SECONDS:
        return None
    ending = endings.by_signal(attempt, seen, seen.signal, "after the training")
    if ending.verdict.id == "host_oom":
        return "the OS killed the program for lack of memory", ending.verdict
    return f"the program was ended ({endings.name_of(seen.signal)})", ending.verdict
