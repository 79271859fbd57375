"""It learned the training data by heart: validation got worse while training improved.

**What it means.** From some epoch on, the training loss kept falling and the loss on
data the model has not seen rose. What it learned after that epoch is of no use.

**How we know.** The lowest validation loss lies well before the end; from there it rose
by far more than it jumps about, while the training loss went on falling. A rise that
is small, or that comes with a validation accuracy that still improves, is not called a
problem. Neither is one that early stopping or a checkpoint of the best epoch undoes.
Without a rise it is named only if the training loss is next to nothing, and validation
no better than one answer for every row.

**What it is mistaken for.** Labels that differ between training and validation data,
sorted training data, a learning rate that is too high (then both losses rise).

**What to do.** Stop at the best epoch and keep its weights. Then: more data or
augmentation, dropout or a weight penalty, a smaller model.
"""

import math
import statistics
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.learning import (
    accuracy_name,
    learning_of,
    main_training,
)
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict
from tb_health_plugin.events import facts

# With fewer, the lowest one may be lowest by chance.
LEAST_EPOCHS = 5
LEAST_EPOCHS_AFTER = 3
# Rises below this are common and mostly harmless: many good runs end so.
CLEAR_RISE = Option(
    "clear_rise",
    0.25,
    "Rise of val_loss above its lowest, as a share of it, that counts.",
)
# The training loss must really have gone on: to this share of what it was.
STILL_FALLING = 0.8
# The rise must be this many times what single epochs jump about.
NOISE_FACTOR = 3.0
# Validation accuracy that gained more than this since then is no loss to anybody.
STILL_BETTER = 0.01
# Where so many rows are right there is no more to gain, only to lose.
NEARLY_ALL = 0.97
# Not if the loss has doubled, though: then it is wrong with great certainty.
DOUBLED = 1.0
# A rise beside all that had been gained before it. Below this nobody sees it.
LEAST_PART = 0.05
# Learned by heart: the training loss is below this share of that of a constant answer,
# and validation in the last third of the epochs above that one, with its error.
BY_HEART = 0.05
NO_BETTER = 0.85
# Accuracy above chance by this much is some use, whatever the loss says.
LEAST_SKILL = 0.05
# Early stopping by its class, as the settings name it.
_STOPPERS = ("EarlyStopping",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Where validation was best, and what came after."""

    best: int
    first: float
    lowest: float
    last: float
    train_then: float
    train_last: float
    noise: float
    epochs: tuple[int, ...]

    @property
    def rise(self) -> float:
        return (self.last - self.lowest) / self.lowest

    @property
    def is_slight(self) -> bool:
        """The loss had come so far down that the way back is hardly one."""
        return self.last - self.lowest < LEAST_PART * (self.first - self.lowest)


def judge(case: Case) -> Verdict | None:
    training = main_training(case)
    if training is None:
        return None
    turn = _turn(training, case.tuned(CLEAR_RISE))
    return _verdict(case, training, turn) if turn else _by_heart(case, training)


def _turn(training: Training, clear_rise: float) -> Turn | None:
    rows = [
        (index, e.metrics["loss"], e.metrics["val_loss"])
        for index, e in enumerate(training.epochs)
        if "loss" in e.metrics and "val_loss" in e.metrics
    ]
    rows = [row for row in rows if math.isfinite(row[1]) and math.isfinite(row[2])]
    if len(rows) < LEAST_EPOCHS:
        return None
    place = min(range(len(rows)), key=lambda i: rows[i][2])
    after = rows[place:]
    lowest = after[0][2]
    if len(after) <= LEAST_EPOCHS_AFTER or lowest <= 0 or after[0][1] <= 0:
        return None
    turn = Turn(
        best=rows[place][0],
        first=rows[0][2],
        lowest=lowest,
        last=statistics.median(row[2] for row in after[-3:]),
        train_then=after[0][1],
        train_last=statistics.median(row[1] for row in after[-3:]),
        noise=_noise([row[2] for row in after]),
        epochs=tuple(row[0] for row in rows),
    )
    if turn.rise < clear_rise or turn.last < turn.train_last:
        return None
    if turn.train_last > STILL_FALLING * turn.train_then:
        return None
    return turn if turn.last - lowest > NOISE_FACTOR * turn.noise else None


def _noise(values: list[float]) -> float:
    """How far single epochs lie from the line through their neighbours."""
    off = [
        abs(values[i] - (values[i - 1] + values[i + 1]) / 2)
        for i in range(1, len(values) - 1)
    ]
    return statistics.median(off) if off else 0.0


def _verdict(case: Case, training: Training, turn: Turn) -> Verdict:
    best = training.epochs[turn.best]
    number = (best.epoch if best.epoch is not None else turn.best) + 1
    undone = _undone(training, turn)
    better = _accuracy_gain(training, turn)
    gained = better is not None and better > _least_gain(training, turn)
    harmless = bool(undone) or (gained and turn.rise < DOUBLED) or turn.is_slight
    last = training.epochs[turn.epochs[-1]]
    evidence = [
        Evidence(
            text=f"val_loss was lowest in epoch {number} ({turn.lowest:.4g}) and "
            f"ended at {turn.last:.4g}, {turn.rise:.0%} higher.",
            lane="loss",
            at=training.at(best, best.epoch),
        ),
        Evidence(
            text=f"In that time the training loss fell from {turn.train_then:.4g} to "
            f"{turn.train_last:.4g}.",
            lane="loss",
            at=training.at(last, last.epoch),
        ),
    ]
    if better is not None:
        text = f"Validation accuracy changed by {better:+.1%} since that epoch."
        evidence.append(Evidence(text=text, strong=False))
    if undone:
        evidence.append(Evidence(text=undone, strong=False))
    return Verdict(
        id=RULE.id,
        detail="kept_best" if undone else "past_best",
        severity="info" if harmless else "warning",
        confidence="likely",
        headline=f"Overfitting since epoch {number}: val_loss rose by {turn.rise:.0%} "
        "while loss fell",
        chip="Overfitting",
        because="Two curves went apart for "
        f"{len(training.epochs) - 1 - turn.best} epochs, by far more than they jump "
        "about.",
        cause_at=training.at(best, best.epoch),
        stopped_at=case.stopped_at,
        evidence=tuple(evidence),
        fixes=_fixes(training, number, len(training.epochs)),
    )


def _by_heart(case: Case, training: Training) -> Verdict | None:
    """Validation never rose, but it never got anywhere either."""
    learned = learning_of(training)
    base = learned.baseline
    unseen = finite(training.metric("val_loss"))
    if base is None or not base.loss or len(unseen) < LEAST_EPOCHS or not learned.end:
        return None
    late = unseen[-max(len(unseen) // 3, 3) :]
    least = (NO_BETTER - 2 * base.error) * base.loss
    if learned.end > BY_HEART * base.loss or min(late) < least:
        return None
    name = accuracy_name(training, "val_")
    right = finite(training.metric(name))[-1:] if name else []
    if right and right[0] > (base.accuracy or 0.0) + LEAST_SKILL:
        return None
    last = training.epochs[-1]
    return Verdict(
        id=RULE.id,
        detail="by_heart",
        severity="warning",
        confidence="possible",
        headline=f"Learned by heart: loss {learned.end:.2g}, but val_loss "
        f"{late[-1]:.3g} is no better than guessing",
        chip="Overfitting",
        because="The training loss is next to nothing, and what it learned says "
        "nothing about data it has not seen.",
        cause_at=training.at(last, last.epoch),
        stopped_at=case.stopped_at,
        evidence=(
            Evidence(
                text=f"val_loss was never below {min(late):.4g} in the last "
                f"{len(late)} epochs; {base.words} gives {base.loss:.4g}.",
                lane="loss",
                at=training.at(last, last.epoch),
            ),
            Evidence(
                text=f"The training loss ended at {learned.end:.2g}.",
                lane="loss",
                at=training.at(last, last.epoch),
            ),
        ),
        fixes=(
            Fix(
                title="See that validation data is of the same kind",
                why="Same scaling, same coding of labels, rows and labels in step.",
                code="print(x_train.mean(), x_train.std(), x_val.mean(), x_val.std())",
            ),
            *_fixes(training, 1, 1)[1:],
        ),
    )


def _undone(training: Training, turn: Turn) -> str | None:
    """What keeps the best epoch, as a sentence."""
    names = (training.setting("callbacks") or "").split(", ")
    if any(name in _STOPPERS for name in names):
        return "Early stopping was there to watch for this."
    best = training.epochs[turn.best]
    saves = [save for save in training.saves if save.callback and save.ok is not False]
    if not saves or best.last_step is None:
        return None
    # A callback that saved up to the best epoch and not after it keeps the best.
    nxt = (
        training.epochs[turn.best + 1].last_step if _has_next(training, turn) else None
    )
    if nxt is not None and max(save.step for save in saves) < nxt:
        return f"The last save was at step {saves[-1].step:,}, when it was best."
    return None


def _has_next(training: Training, turn: Turn) -> bool:
    return turn.best + 1 < len(training.epochs)


def _accuracy_gain(training: Training, turn: Turn) -> float | None:
    name = accuracy_name(training, "val_")
    if name is None:
        return None
    then = training.epochs[turn.best].metrics.get(name)
    now = [
        training.epochs[i].metrics[name]
        for i in turn.epochs[-3:]
        if name in training.epochs[i].metrics
    ]
    if then is None or not now:
        return None
    return statistics.median(now) - then


def _least_gain(training: Training, turn: Turn) -> float:
    """What accuracy must have gained since then to be no loss."""
    name = accuracy_name(training, "val_") or ""
    then = training.epochs[turn.best].metrics.get(name, 0.0)
    return STILL_BETTER if then < NEARLY_ALL else -STILL_BETTER / 2


def _fixes(training: Training, number: int, epochs: int) -> tuple[Fix, ...]:
    fixes = [
        Fix(
            title=f"Keep the weights of epoch {number}",
            why=f"val_loss was never as low in the {epochs - number} epochs after it.",
            code='keras.callbacks.EarlyStopping("val_loss", patience=3, '
            "restore_best_weights=True)",
        )
    ]
    kinds = {layer.kind for layer in training.started.layers}
    largest = _largest(training)
    put = f"; put it behind {largest.name}, its largest layer" if largest else ""
    if kinds and not any("Dropout" in kind for kind in kinds):
        fixes.append(
            Fix(
                title="Make it harder to learn by heart",
                why=f"The model has no dropout{put}. It costs some epochs more.",
                code="keras.layers.Dropout(0.3)",
            )
        )
    else:
        fixes.append(
            Fix(
                title="More data, augmentation, or a smaller model",
                why=f"{_freedom(training)} A smaller one cannot learn as much.",
                code=_smaller(largest),
            )
        )
    return tuple(fixes)


def _largest(training: Training) -> facts.Layer | None:
    """The hidden layer with most parameters, of those that can be made smaller."""
    hidden = [
        layer
        for layer in training.started.layers
        if layer.units and layer.units > 1 and layer.parameters and not layer.is_output
    ]
    return max(hidden, key=lambda layer: layer.parameters or 0, default=None)


def _smaller(layer: facts.Layer | None) -> str:
    if layer is None or layer.is_custom or not layer.units:
        return "kernel_regularizer=keras.regularizers.L2(1e-4)"
    rest = ", ..." if layer.kind.startswith("Conv") else ""
    if layer.activation and layer.activation != "linear":
        rest += f', activation="{layer.activation}"'
    made = f"keras.layers.{layer.kind}({layer.units // 2}{rest})"
    return f"{made}  # {layer.name} has {layer.units}"


def _freedom(training: Training) -> str:
    count = training.started.trainable_parameters
    rows = training.number("data.examples")
    if not count or not rows:
        return "The model has more freedom than the data can hold down."
    return f"It has {count:,.0f} parameters for {rows:,.0f} rows."


RULE = Rule(id="overfitting", judge=judge, options=(CLEAR_RISE,))
