"""The last batches of a training, and the model as it was before them.

With both, the steps that led to a bad number can be run again, exactly. Two states
are kept, because a bad number may be noticed after the newer one was taken; of a
larger model one, which is then too new now and then.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tb_health_plugin.recording.fitting.model_state import (
    Kept,
    bytes_in,
    everything,
    plain,
)
from tb_health_plugin.recording.fitting.step_clock import StepClock

# Memory that may be kept for batches, and for states together. A state takes that
# much twice at most: once kept, and once for what TensorFlow writes instead.
_MOST_BATCH_BYTES = 8 << 20
_MOST_STATES_BYTES = 10 << 20
# Running more steps again than twice this would take too long.
_MOST_STEPS_APART = 128
# States are this many steps apart, unless that takes more than its share of the time
# or memory holds fewer batches.
_LEAST_STEPS_APART = 16
_SHARE = 0.003
# The copy that TensorFlow makes when a kept value is next written, into memory that
# it has to get first.
_COPIED_BYTES_PER_SECOND = 1e9
# Where memory holds too few batches to lead from one state to the next, so many stay.
_FEW_BATCHES = 2
# Batches too large for that are kept, too, if a few take so little of the process:
# which row of a batch is bad is seen in the batch alone.
_LARGE_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch as a step was given it.

    Attributes:
        step: Steps of the attempt finished before it.
        epoch: Epoch under way.
        batch: The batch itself.
    """

    step: int
    epoch: int
    batch: Any


@dataclass(frozen=True, slots=True)
class State:
    """The model before a step.

    Attributes:
        step: Steps of the attempt finished before it.
        kept: Its variables.
        is_whole: False before the first step, when optimizers have no variables yet.
    """

    step: int
    kept: Kept
    is_whole: bool


class RecentSteps:
    """Keeps what led to the step under way.

    Args:
        model: The model that trains.
        clock: Knows how long steps take.
        spent: Told of seconds that were taken.
    """

    def __init__(
        self, model: Any, clock: StepClock, spent: Callable[[float], None]
    ) -> None:
        self._model = model
        self._clock = clock
        self._spent = spent
        self._strategy = model.distribute_strategy
        self._seen: deque[Seen] = deque()
        self._most = 1
        self._states: list[State] = []
        self._variables: list[Any] | None = None
        self._keeps_states = True
        self._most_states = 2
        self._cost = math.inf
        self._why = "no copy of the model from just before that step is kept"
        self.due = 0

    def saw(self, step: int, epoch: int, batch: Any) -> None:
        """A step is about to be given `batch`."""
        seen = self._seen
        seen.append(Seen(step, epoch, batch))
        while len(seen) > self._most:
            seen.popleft()

    def keep_state(self, step: int, number: int, batch: Any) -> None:
        """Keeps the model as it is before `step`; called before `saw`.

        Args:
            step: Steps of the attempt finished.
            number: Steps of this training finished.
            batch: What the step is given.
        """
        began = time.perf_counter()
        bytes_each = max(1, batch_bytes(batch, self._strategy))
        fitting = min(2 * _MOST_STEPS_APART, _MOST_BATCH_BYTES // bytes_each)
        self._most = fitting or min(_FEW_BATCHES, _room() // bytes_each)
        if self._are_out_of_reach():
            self._states.clear()
            self._why = "batches are too large to keep all since a copy of the model"
            self._most = min(self._most, _FEW_BATCHES)
            self.due = number + _MOST_STEPS_APART
            return
        if self._model.built and self._keeps_states:
            is_whole = bool(getattr(self._model.optimizer, "built", True))
            if self._variables is None or not is_whole:
                self._variables = self._all_variables()
            if self._keeps_states:
                # First: what goes must not be held beside what comes.
                del self._states[: len(self._states) + 1 - self._most_states]
                self._states.append(State(step, Kept(self._variables), is_whole))
            if not is_whole:
                self._variables = None
        seconds = time.perf_counter() - began
        self._spent(seconds)
        copied = bytes_in(self._variables or []) / _COPIED_BYTES_PER_SECOND
        # What was lowest so far: anything may have come between.
        self._cost = min(self._cost, seconds + copied)
        self.due = number + self._apart(self._cost)

    def forget(self, why: str) -> None:
        """Steps went by unseen: nothing before them leads here."""
        self._why = why
        self._seen.clear()
        self._states.clear()

    def stop(self) -> None:
        """Keeps nothing any more."""
        self.forget(self._why)
        self._most = 0
        self._keeps_states = False
        self.due = 1 << 62

    def batches(self) -> list[Seen]:
        """What is kept, the oldest first."""
        return list(self._seen)

    def batch_of(self, step: int) -> Seen | None:
        return next((seen for seen in self._seen if seen.step == step), None)

    def leading_to(self, step: int) -> list[tuple[State, list[Seen]]]:
        """States from which all batches up to `step` are kept, the oldest first."""
        found = []
        for state in self._states:
            batches = [one for one in self._seen if state.step <= one.step <= step]
            if len(batches) == step - state.step + 1 > 0:
                found.append((state, batches))
        return found

    def state_before(self, step: int) -> State | None:
        return next((one for one in self._states if one.step == step), None)

    def present(self) -> Kept:
        """The model as it is now."""
        return Kept(everything(self._model))

    def why_no_state(self) -> str:
        if not self._keeps_states:
            return "the model is too large to keep a copy of it"
        return self._why

    def _all_variables(self) -> list[Any]:
        variables = everything(self._model)
        # What is not trained is shared, not copied, but for statistics.
        still = plain(self._model.non_trainable_variables, self._strategy)
        copied = bytes_in(variables) - bytes_in(still)
        self._keeps_states = copied <= _MOST_STATES_BYTES
        self._most_states = 2 if 2 * copied <= _MOST_STATES_BYTES else 1
        return variables

    def _are_out_of_reach(self) -> bool:
        """True if so few batches fit that they hardly ever lead back to a state."""
        if self._clock.steps < 2 or not math.isfinite(self._cost):
            return False
        is_short_of_memory = self._most < 2 * _MOST_STEPS_APART
        return is_short_of_memory and self._apart(self._cost) > self._most

    def _apart(self, seconds: float) -> int:
        if not self._keeps_states:
            return _MOST_STEPS_APART
        wanted = min(_LEAST_STEPS_APART, max(1, self._most // 2))
        bearable = math.ceil(seconds / (_SHARE * max(self._clock.usual, 1e-6)))
        if self._clock.steps < 2:
            # How long steps take is not known before the second one.
            return wanted if self._states and self._states[-1].is_whole else 1
        return max(wanted, bearable)


def _room() -> int:
    """Bytes that a few large batches may take: little beside what the process holds."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return int(_LARGE_SHARE * pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return 0


def batch_bytes(batch: Any, strategy: Any) -> int:
    """Memory that a batch holds."""
    total = 0
    for part in tf.nest.flatten(batch):
        for leaf in strategy.experimental_local_results(part):
            for tensor in tf.nest.flatten(leaf, expand_composites=True):
                if isinstance(tensor, tf.Tensor):
                    count = tensor.shape.num_elements() or 0
                    total += count * max(1, tensor.dtype.size)
    return total
