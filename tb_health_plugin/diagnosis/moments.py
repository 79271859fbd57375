"""Where a run stands, as moments and as words."""

from tb_health_plugin.diagnosis.verdict import Moment
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt


def is_under_way(attempt: Attempt) -> bool:
    """A training began and has not ended."""
    begun = attempt.last(facts.TrainingStarted)
    ended = attempt.last(facts.TrainingEnded)
    if begun is None:
        return False
    return ended is None or ended.training != begun.training


def stopped_at(attempt: Attempt) -> Moment:
    """The last moment that anything is known of."""
    epochs = attempt.samples.column("epoch")
    epoch = None
    if len(epochs) and epochs[-1] == epochs[-1]:
        epoch = int(epochs[-1]) + 1
    return Moment(step=attempt.last_step, epoch=epoch, wall_time=attempt.last_seen_at)


def where(attempt: Attempt) -> str:
    """Where in the run it stopped, as the rest of a sentence."""
    if not attempt.all(facts.TrainingStarted):
        return "before the training began"
    if not is_under_way(attempt):
        return f"after the training (step {attempt.last_step:,})"
    if not attempt.last_step:
        return "before the first step was done"
    return f"at step {attempt.last_step:,}"
