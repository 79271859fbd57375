"""What was set differently, and which of it can explain what differs."""

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tb_health_plugin.comparing.comparison import Compared
from tb_health_plugin.events import facts
from tb_health_plugin.events.settings import PROCESS, TRAINING
from tb_health_plugin.reading.run_history import Attempt

Settings = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting with two values; None where it was not seen."""

    name: str
    a: str | None
    b: str | None


def settings_of(attempt: Attempt) -> dict[str, str]:
    """Everything that was set: the process, and its last training above it."""
    start, begun = attempt.start, attempt.last(facts.TrainingStarted)
    found = dict(start.settings) if start else {}
    if start and start.program:
        found["program"] = start.program
    if begun:
        found |= begun.settings
        if begun.trainable_parameters is not None:
            found["trainable_parameters"] = f"{begun.trainable_parameters:,}"
    return {
        name: found[name] for name in sorted(found, key=_order) if name not in _UNCHOSEN
    }


# Another one for every start, or edit: these are no settings that somebody chose.
_UNCHOSEN = ("worker.job", "limit.ends_at", "callbacks.lines")

# What a training was told comes before what it ran on.
_KNOWN = (
    "program",
    "batch_size",
    "optimizer",
    "optimizer.*",
    "learning_rate_schedule",
    "learning_rate_schedule.*",
    "data.*",
    *TRAINING,
    "trainable_parameters",
    *PROCESS,
)


def _order(name: str) -> tuple[int, str]:
    for place, known in enumerate(_KNOWN):
        if fnmatch.fnmatchcase(name, known):
            return place, name
    return len(_KNOWN), name


def differences(a: Settings, b: Settings) -> list[Difference]:
    names = sorted({*a, *b}, key=_order)
    return [
        Difference(name, a.get(name), b.get(name))
        for name in names
        if a.get(name) != b.get(name)
    ]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The setting to try first, and why."""

    setting: str
    why: str


@dataclass(frozen=True, slots=True)
class _Link:
    """Settings that can change a signal.

    Attributes:
        settings: Names, as patterns.
        signals: Ids of signals.
        can: What it can do, as the rest of a sentence.
        fits: Whether these values of A and B fit what was seen.
    """

    settings: tuple[str, ...]
    signals: tuple[str, ...]
    can: str
    fits: Callable[[Difference, Compared], bool] = lambda difference, seen: True


def _is_on(difference: Difference, seen: Compared) -> bool:
    return difference.a == "True" and seen.higher


def _is_off(difference: Difference, seen: Compared) -> bool:
    return difference.a != "True" and difference.b == "True"


def _grown(difference: Difference, seen: Compared) -> bool:
    """Larger from the start; what grows all the time has another cause."""
    return seen.kind == "level" and _same_way(difference, seen)


def _same_way(difference: Difference, seen: Compared) -> bool:
    """The larger value in the run with the larger signal."""
    a, b = _number(difference.a), _number(difference.b)
    return a is not None and b is not None and (a > b) == seen.higher


def _other_way(difference: Difference, seen: Compared) -> bool:
    a, b = _number(difference.a), _number(difference.b)
    return a is not None and b is not None and (a < b) == seen.higher


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


_SLOWNESS = ("throughput", "step_time", "data_wait", "data_wait_time")
_WAITING = ("data_wait", "data_wait_time", "throughput")
_LEARNING = ("loss", "gradient_norm")
_MORE_MEMORY = "make a training hold more memory"

# In the order in which they are worth trying.
_LINKS = (
    _Link(
        ("data.cache",),
        ("host_memory",),
        "make memory grow with the number of steps, as every batch is kept",
        _is_on,
    ),
    _Link(("data.shuffle",), ("host_memory",), _MORE_MEMORY, _is_on),
    _Link(
        ("data.workers", "data.max_queue_size", "batch_size", "trainable_parameters"),
        ("host_memory",),
        _MORE_MEMORY,
        _grown,
    ),
    _Link(("data.stages", "data.kind"), ("host_memory",), _MORE_MEMORY),
    _Link(
        ("data.prefetch", "data.parallel", "data.cache"),
        _WAITING,
        "make a training wait for data",
        _is_off,
    ),
    _Link(
        ("data.python", "data.shuffle"),
        _WAITING,
        "make a training wait for data",
        lambda difference, seen: difference.a == "True",
    ),
    _Link(
        ("data.workers", "data.max_queue_size"),
        ("data_wait", "data_wait_time"),
        "make a training wait for data",
        _other_way,
    ),
    _Link(
        ("data.workers",),
        ("throughput",),
        "make a training wait for data",
        _same_way,
    ),
    _Link(
        ("data.*",), ("data_wait", "data_wait_time"), "make a training wait for data"
    ),
    _Link(
        ("optimizer.learning_rate", "learning_rate_schedule.initial_learning_rate"),
        _LEARNING,
        "make loss and gradients grow",
        _same_way,
    ),
    _Link(
        ("optimizer.clipnorm", "optimizer.global_clipnorm", "optimizer.clipvalue"),
        _LEARNING,
        "keep gradients from growing",
    ),
    _Link(
        (
            "optimizer.learning_rate",
            "learning_rate_schedule",
            "learning_rate_schedule.*",
            "optimizer",
            "optimizer.*",
            "loss",
            "loss.from_logits",
            "dtype_policy",
            "loss_scaling",
            "loss_scaling.*",
        ),
        _LEARNING,
        "change how the loss goes down",
    ),
    _Link(
        ("run_eagerly",),
        _SLOWNESS,
        "make each step slower",
        lambda difference, seen: difference.a == "True",
    ),
    _Link(
        ("threads.*", "cpus", "gpus"), (*_SLOWNESS, "cpu"), "change how fast steps are"
    ),
    _Link(
        (
            "jit_compile",
            "steps_per_execution",
            "strategy",
            "batch_size",
            "dtype_policy",
        ),
        (*_SLOWNESS, "cpu"),
        "change how long a step takes",
    ),
)


def try_first(
    seen: Compared | None, differences: list[Difference]
) -> Suggestion | None:
    """The setting that can explain a difference; None if there is none.

    Args:
        seen: The difference to explain.
        differences: All settings that differ.
    """
    if seen is None:
        return None
    found: dict[str, str] = {}
    for link in _LINKS:
        if seen.signal.id not in link.signals:
            continue
        for one in differences:
            known = any(fnmatch.fnmatchcase(one.name, p) for p in link.settings)
            if known and link.fits(one, seen):
                found.setdefault(one.name, link.can)
    if not found:
        return None
    name, can = next(iter(found.items()))
    which = (
        "it is the only one that can" if len(found) == 1 else "it is the likeliest to"
    )
    return Suggestion(name, f"Of the settings that differ, {which} {can}.")
