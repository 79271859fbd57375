"""A training that gave control back: as planned, early, short, or in trouble after."""

import dataclasses

from tb_health_plugin.diagnosis import endings
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

# What strikes a program within this time after its training belongs to the run: saving
# and evaluating. Later it is another story, as in a sweep of many trainings.
BELONGS_SECONDS = 60.0


def tell(attempt: Attempt, failed: Story | None) -> Story:
    """The story of a training that returned.

    Args:
        attempt: Its record.
        failed: What Python reported as the program ended, if that was an exception.
    """
    ended = attempt.last(facts.TrainingEnded)
    assert ended is not None
    story = _short(attempt) or _plain(attempt, ended)
    trouble = _trouble(attempt, ended, failed)
    if trouble is None or story.verdict is not None:
        return story
    what, verdict = trouble
    done = "finished" if story.state == "finished" else "ended early"
    headline = f"The training {done} at step {attempt.last_step:,}, then {what}"
    verdict = dataclasses.replace(verdict, severity="warning", headline=headline)
    return dataclasses.replace(
        story,
        chip="Failed afterwards",
        severity="warning",
        headline=headline,
        verdict=verdict,
    )


def _plain(attempt: Attempt, ended: facts.TrainingEnded) -> Story:
    begun = attempt.last(facts.TrainingStarted)
    assert begun is not None
    planned = (begun.planned_epochs or 0) - (begun.initial_epoch or 0)
    done = ended.epochs_done or 0
    at = f"step {attempt.last_step:,}"
    if done < planned:
        return Story(
            state="ended_early",
            chip="Ended early",
            severity="info",
            headline=f"Ended at {at}, after {done:,} of {planned:,} epochs",
        )
    return Story(
        state="finished",
        chip="Finished",
        severity="info",
        headline=f"Finished as planned at {at}",
    )


def _short(attempt: Attempt) -> Story | None:
    """All epochs were run, but some had fewer steps than planned."""
    epochs = _epochs_of_last_training(attempt)
    counted = [e for e in epochs if e.planned_steps is not None]
    short = [e for e in counted if _steps(e) < (e.planned_steps or 0)]
    # A callback may stop in the middle of the last epoch: that one proves nothing.
    if not short or (short == epochs[-1:] and len(epochs) > 1):
        return None
    done = sum(map(_steps, counted))
    planned = sum(e.planned_steps or 0 for e in counted)
    first = short[0]
    number = (first.epoch or 0) + 1
    at = Moment(step=first.last_step, epoch=number, wall_time=first.wall_time)
    verdict = Verdict(
        id="data_exhausted",
        detail=f"{done} of {planned} steps",
        severity="warning",
        confidence="likely",
        headline=f"The input ran out: {done:,} of {planned:,} planned steps were run",
        because="Keras ends an epoch without an error when its data ends.",
        cause_at=at,
        stopped_at=stopped_at(attempt),
        evidence=(
            Evidence(
                text=f"Epoch {number} had {_steps(first):,} of "
                f"{first.planned_steps:,} planned steps.",
                at=at,
            ),
            Evidence(
                text=f"{len(short):,} of {len(counted):,} epochs were short.",
                strong=False,
                at=at,
            ),
        ),
        fixes=(
            Fix(
                title="Let the data begin again, or plan as many steps as it has",
                why=f"An epoch was planned with {first.planned_steps:,} steps.",
                code="dataset = dataset.repeat()",
            ),
        ),
    )
    return Story(
        state="finished",
        chip="Ran out of data",
        severity="warning",
        headline=verdict.headline,
        verdict=verdict,
    )


def _epochs_of_last_training(attempt: Attempt) -> list[facts.EpochEnded]:
    begun = attempt.last(facts.TrainingStarted)
    number = begun.training if begun else None
    return [e for e in attempt.all(facts.EpochEnded) if e.training == number]


def _steps(epoch: facts.EpochEnded) -> int:
    return (epoch.last_step or 0) - (epoch.first_step or 0)


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
    return f"the program was ended ({endings.name_of(seen.signal)})", ending.verdict
