"""Which learning rates are usual for an optimizer, and which one was used."""

import math

from tb_health_plugin.diagnosis.case import Training

# The defaults of Keras 3. Its authors' own advice for these optimizers lies within a
# factor of ten of them.
USUAL = {
    "SGD": 0.01,
    "RMSprop": 0.001,
    "Adam": 0.001,
    "AdamW": 0.001,
    "Adamax": 0.001,
    "Nadam": 0.001,
    "Adagrad": 0.001,
    "Adadelta": 0.001,
    "Adafactor": 0.001,
    "Ftrl": 0.001,
    "Lion": 0.001,
    "Lamb": 0.001,
    "Muon": 0.001,
}

# Settings that somebody may have chosen, with what they are if nobody has.
_SETTINGS = {
    "momentum": "0.0",
    "nesterov": "False",
    "beta_1": "0.9",
    "beta_2": "0.999",
    "epsilon": "1e-07",
    "amsgrad": "False",
    "weight_decay": None,
    "clipnorm": None,
    "clipvalue": None,
    "global_clipnorm": None,
}

# This many times the usual rate is high. Ten times is in daily use: SGD at 0.1, Adam
# at 0.01.
HIGH = 20.0


def used(training: Training) -> float | None:
    """The highest learning rate that was seen or set."""
    seen = [
        *(look.learning_rate for look in training.inspections),
        *(epoch.learning_rate for epoch in training.epochs),
        training.number("optimizer.learning_rate"),
    ]
    rates = [rate for rate in seen if rate is not None and rate == rate]
    return max(rates, default=None)


def optimizer(training: Training) -> str:
    """Its class, or nothing."""
    return training.setting("optimizer") or ""


def usual(training: Training) -> float | None:
    return USUAL.get(optimizer(training))


def is_high(training: Training) -> bool:
    rate, normal = used(training), usual(training)
    return rate is not None and normal is not None and rate >= HIGH * normal


def better(training: Training) -> float | None:
    """A rate to try instead: the usual one, or a tenth if that was used already."""
    rate, normal = used(training), usual(training)
    if rate is None or rate <= 0:
        return None
    lower = float(f"{rate / 10:.1g}")
    return min(normal, lower) if normal else lower


def line(training: Training, rate: float | None = None, **changed: str) -> str:
    """The line of code that makes the optimizer as it was, but for what changes.

    Args:
        training: The training it was used in.
        rate: The new rate; None if it stays.
        changed: Other settings that change, by name.
    """
    name = optimizer(training) or "Adam"
    rate = used(training) if rate is None else rate
    told = {} if rate is None else {"learning_rate": f"{rate:g}"}
    for key, default in _SETTINGS.items():
        value = training.setting(f"optimizer.{key}")
        if value not in (None, "None", default) and _is_plain(value):
            told[key] = value
    told |= changed
    arguments = ", ".join(f"{key}={value}" for key, value in told.items())
    # One of the program's own is called as the program calls it.
    library = "keras.optimizers." if name in USUAL else ""
    return f"{library}{name}({arguments})"


def _is_plain(value: str | None) -> bool:
    """A number, or yes or no."""
    try:
        return value in ("True", "False") or math.isfinite(float(value or ""))
    except ValueError:
        return False
