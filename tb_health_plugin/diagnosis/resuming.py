"""How a training that was broken off goes on: from its last checkpoint, or anew."""

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

SAVE_OFTEN = Fix(
    title="Save a checkpoint often, and go on from it",
    why="The work since the last checkpoint is lost, and none is on record here. It "
    "costs the time of a save per epoch.",
    code='keras.callbacks.BackupAndRestore("backup", save_freq="epoch")',
)


def go_on(attempt: Attempt) -> Fix:
    """From what it saved last, else to save next time."""
    begun = attempt.last(facts.TrainingStarted)
    callbacks = begun.settings.get("callbacks", "") if begun else ""
    if "BackupAndRestore" in callbacks.split(", "):
        return Fix(
            title="Start it again: BackupAndRestore goes on where it was",
            why="It keeps the whole training, and needs nothing but the same start.",
            code=own_code.started(attempt),
        )
    saved = _last_saved(attempt)
    if saved is None or saved.path is None:
        return SAVE_OFTEN
    lost = attempt.last_step - saved.step
    after = f"The {lost:,} steps after it are lost" if lost > 0 else "Nothing is lost"
    return Fix(
        title="Go on from the last checkpoint",
        why=f"It was saved at step {saved.step:,}. {after}.",
        code=_loaded(saved.path) + _fitted(attempt, begun, saved.step),
    )


def _last_saved(attempt: Attempt) -> facts.Saved | None:
    """The newest save that can be loaded by one line."""
    saves = [one for one in attempt.all(facts.Saved) if one.ok is not False]
    usable = [one for one in saves if (one.path or "").endswith((".keras", ".h5"))]
    return usable[-1] if usable else None


def _loaded(path: str) -> str:
    text = repr(path) if '"' in path or "\\" in path else f'"{path}"'
    if path.endswith(".weights.h5"):
        return f"model.load_weights({text})"
    return f"model = keras.models.load_model({text})"


def _fitted(attempt: Attempt, begun: facts.TrainingStarted | None, step: int) -> str:
    """The call of fit that goes on, if epochs were done by then."""
    if begun is None or begun.loop == "loop" or not begun.planned_epochs:
        return ""
    done = [
        one.epoch + 1
        for one in attempt.all(facts.EpochEnded)
        if one.training == begun.training
        and one.epoch is not None
        and one.last_step is not None
        and one.last_step <= step
    ]
    if not done:
        return ""
    return f"\nmodel.fit(..., initial_epoch={max(done)}, epochs={begun.planned_epochs})"
