"""One call of `fit` while it runs: what its parts share.

A part watches one thing. It begins when the training begins, and undoes all it did
when the training ends, however it ends.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.recorder import Recorder


@dataclass(slots=True)
class Spent:
    """Seconds and counts of the stretch under way; parts add to it.

    Attributes are those of `facts.TimeSpent`. None: nobody measures it in this fit.
    """

    since: float = field(default_factory=time.time)
    steps: int = 0
    examples: int | None = None
    wait_seconds: float | None = None
    step_seconds: float | None = None
    validation_seconds: float = 0.0
    validation_wait_seconds: float | None = None
    validation_steps: int = 0
    callback_seconds: dict[str, float] = field(default_factory=dict)
    save_seconds: float = 0.0
    recording_seconds: float = 0.0
    gc_seconds: float = 0.0
    traces: int | None = None


@dataclass(slots=True)
class Raised:
    """An exception on its way out of `fit`.

    Attributes:
        error: The exception itself.
        during: "data", "step", "callback", "validation" or "other".
        callback: Class of the callback it came from.
    """

    error: BaseException
    during: str
    callback: str | None = None


@dataclass(slots=True, eq=False)
class Fit:
    """One call of `fit`.

    Attributes:
        recorder: Where facts and progress go.
        guard: Every part runs its own code under `guard.protect(...)`, so that a
            fault of ours never reaches the training.
        model: The model that trains.
        arguments: Arguments of `fit` by name, as far as they could be seen.
        params: What Keras tells callbacks: epochs and steps.
        callbacks: The list that `fit` runs, ours included; empty if not seen.
        training: Number of the training in the attempt; set before any step runs.
        epoch: Epoch under way, counted from 0.
        epoch_first_step: Steps of the attempt finished when the epoch began.
        spent: Where time goes since the last `TimeSpent`.
        raised: The exception that was last seen leaving a part of the loop.
        nonfinite_at: Step (counted from 0) whose reported loss was the first that is
            NaN or infinite; None so far. Set by the callback, maybe in a thread.
    """

    recorder: Recorder
    guard: Guard
    model: Any
    arguments: Mapping[str, Any]
    params: Mapping[str, Any]
    callbacks: list[Any]
    training: int | None = None
    epoch: int = 0
    epoch_first_step: int = 0
    spent: Spent = field(default_factory=Spent)
    raised: Raised | None = None
    nonfinite_at: int | None = None


class Part(Protocol):
    """Something that is watched for the time of one `fit`."""

    def begin(self) -> None:
        """Called once before the first step, in the thread that trains."""

    def end(self) -> None:
        """Undoes everything. Called once, also after an exception, in any thread."""


# Makes a part for one fit, or None if there is nothing for it to watch.
PartMaker = Callable[[Fit], Part | None]
