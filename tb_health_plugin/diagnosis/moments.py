"""Where a run stands, as moments and as words."""

from tb_health_plugin.diagnosis.verdict import Moment
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

NOT_BEGUN = "before the first step was done"


def last_end(attempt: Attempt) -> facts.TrainingEnded | None:
    """How the newest training gave control back; None if it has not."""
    begun = attempt.last(facts.TrainingStarted)
    ended = attempt.last(facts.TrainingEnded)
    if begun is None or ended is None or ended.training != begun.training:
        return None
    return ended


def is_under_way(attempt: Attempt) -> bool:
    """A training began and has not ended."""
    return bool(attempt.all(facts.TrainingStarted)) and last_end(attempt) is None


def has_raised(attempt: Attempt) -> bool:
    """An exception left the newest training, whoever caught it."""
    ended = last_end(attempt)
    return ended is not None and ended.reason == "raised"


def has_returned(attempt: Attempt) -> bool:
    """A training was begun, and gave control back without an exception."""
    return last_end(attempt) is not None and not has_raised(attempt)


def stopped_at(attempt: Attempt) -> Moment:
    """The last moment that anything is known of."""
    epochs = attempt.samples.column("epoch")
    epoch = None
    if len(epochs) and epochs[-1] == epochs[-1]:
        epoch = int(epochs[-1]) + 1
    return Moment(step=attempt.last_step, epoch=epoch, wall_time=attempt.last_seen_at)


def moment(attempt: Attempt, step: int, wall_time: float) -> Moment:
    """That step of the newest training, with the epoch it falls into."""
    return Moment(step=step, epoch=_epoch_at(attempt, step), wall_time=wall_time)


def _epoch_at(attempt: Attempt, step: int) -> int | None:
    """Counted from 1; None for a loop of the program, which counts its own."""
    begun = attempt.last(facts.TrainingStarted)
    if begun is None or begun.loop == "loop":
        return None
    next_one = begun.initial_epoch or 0
    for ended in attempt.all(facts.EpochEnded):
        if ended.training != begun.training or ended.epoch is None:
            continue
        if ended.last_step is not None and step <= ended.last_step:
            return ended.epoch + 1
        next_one = ended.epoch + 1
    return next_one + 1


def where(attempt: Attempt) -> str:
    """Where in the run it stopped, as the rest of a sentence."""
    if not attempt.all(facts.TrainingStarted):
        return "before the training began"
    if has_returned(attempt):
        return f"after the training (step {attempt.last_step:,})"
    if not attempt.last_step:
        return NOT_BEGUN
    return f"at step {attempt.last_step:,}"
