"""Close looks at single steps: gradients, weights, and what the step changed."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops.budget import LEAST_SECONDS, LookSchedule
from tb_health_plugin.recording.loops.gradients import Gradients, StepGradients
from tb_health_plugin.recording.loops.numbers import Array
from tb_health_plugin.recording.loops.weights import Weights

WHAT = "close looks at weights and gradients"
# A loop that accumulates gradients by hand updates weights only now and then: the
# look waits so many steps for an update.
PATIENCE_STEPS = 64
# By then every optimizer of a loop had its turn, and a variable that none of them was
# given is not one that comes later.
SETTLED_AFTER_STEPS = 3
# What functions leave is read after so much more of the time so far.
INSIDE_SHARE = 0.5


@dataclass(slots=True)
class _Before:
    """What was there before the step that is looked at."""

    since_step: int
    norms: list[float]
    copies: list[Array | None]
    seconds: float


class Looks:
    """Decides which steps to look at, and records what is seen."""

    def __init__(
        self, fit: Fit, weights: Weights, gradients: Gradients, optimizers: list[Any]
    ) -> None:
        self._fit = fit
        self._weights = weights
        self._gradients = gradients
        self._optimizers = optimizers
        self._schedule = LookSchedule()
        self._before: _Before | None = None
        self._inside_at = 0.0
        self._first_norms: dict[int, float] = {}

    def is_due(self, step: int, now: float) -> bool:
        """True if the step with this number in the loop is to be looked at."""
        return self._before is None and self._schedule.is_due(step, now)

    def before(self, step: int) -> None:
        """A step begins that is to be looked at."""
        now = time.perf_counter()
        norms, copies = self._weights.norms(), self._weights.copies()
        self._gradients.look_closely()
        self._before = _Before(step, norms, copies, self._pay(now))

    @property
    def is_under_way(self) -> bool:
        """A step is being looked at."""
        return self._before is not None

    def is_open(self, step: int) -> bool:
        """True if the step that ends now is to be looked at."""
        if self._before is None:
            return False
        waits_for_update = self._gradients.come_eagerly and self._gradients.step is None
        return not waits_for_update or step - self._before.since_step > PATIENCE_STEPS

    def inside(self, step: int, loss: float | None, gradients: StepGradients) -> None:
        """Records what a function left of a step about which nobody tells anything.

        What the step changed is not known: nobody saw the weights before it.
        """
        now = time.perf_counter()
        budget = self._schedule.budget
        if now < self._inside_at or not budget.allows(now):
            return
        self._inside_at = now + min(LEAST_SECONDS, INSIDE_SHARE * budget.age(now))
        self._weights.refresh()
        norms = {"weight_norms": tuple(self._weights.norms())}
        self._record(step, loss, gradients, since_step=step, began=now, **norms)
        self._pay(now)

    def after(self, step: int, loss: float | None, gradients: StepGradients) -> None:
        """The step with this number in the attempt has ended: records what was seen."""
        now = time.perf_counter()
        before, self._before = self._before, None
        if before is None:
            return
        told: dict[str, Any] = {}
        # A model that was built by this very step has nothing to compare with.
        if len(before.norms) == len(self._weights.variables):
            told["weight_norms"] = tuple(before.norms)
            told["update_norms"] = tuple(self._weights.changes_since(before.copies))
            every = zip(self._weights.variables, before.norms, strict=True)
            for variable, value in every:
                self._first_norms.setdefault(id(variable), value)
        began = now - before.seconds
        since = before.since_step
        self._record(step, loss, gradients, since_step=since, began=began, **told)
        self._pay(now)

    def _record(
        self,
        step: int,
        loss: float | None,
        gradients: StepGradients,
        *,
        since_step: int,
        began: float,
        **told: Any,
    ) -> None:
        self._fit.recorder.record(
            facts.Inspected(
                wall_time=time.time(),
                step=step,
                training=self._fit.training,
                loss=loss,
                gradient_norm=gradients.norm,
                learning_rate=learning_rate(self._optimizers),
                has_gradient=self._connections(since_step),
                gradient_norms=self._in_order(gradients.norms),
                gradient_nonfinite=self._in_order(gradients.nonfinite),
                gradient_zero_fractions=self._in_order(gradients.zero_fractions),
                seconds=time.perf_counter() - began,
                **told,
            )
        )

    def _connections(self, step: int) -> tuple[float, ...]:
        """Per variable: 1 if it gets a gradient, 0 if not, NaN if that is unknown."""
        if not self._gradients.are_all_seen:
            return ()
        is_settled = step >= SETTLED_AFTER_STEPS
        weights = self._weights
        found = []
        for place, variable in enumerate(weights.variables):
            is_connected = self._gradients.is_connected(variable)
            if not weights.trainable[place]:
                found.append(math.nan)
            elif is_connected is not None:
                found.append(float(is_connected))
            else:
                # No optimizer of ours was given it; another one may train it.
                first = self._first_norms.get(id(variable))
                is_left_out = is_settled and first == weights.norm_at(place)
                found.append(0.0 if is_left_out else math.nan)
        return tuple(found)

    def _in_order(self, by_place: Mapping[int, float]) -> tuple[float, ...]:
        if not by_place:
            return ()
        places = range(len(self._weights.variables))
        return tuple(by_place.get(place, math.nan) for place in places)

    def _pay(self, since: float) -> float:
        seconds = time.perf_counter() - since
        self._schedule.budget.spent += seconds
        return seconds


def learning_rate(optimizers: list[Any]) -> float | None:
    """Of the first optimizer, at this moment; None if it does not tell."""
    rate = getattr(optimizers[0], "learning_rate", None) if optimizers else None
    return None if rate is None or callable(rate) else float(np.asarray(rate))
