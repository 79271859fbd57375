"""Looks closely at a step now and then: gradients, weights and outputs of layers.

How often follows from what it costs: see `allowance.py` and `look_schedule.py`.
"""

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.allowance import FIXED_SECONDS, allowance_of
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.look import Look
from tb_health_plugin.recording.fitting.look_schedule import LookSchedule
from tb_health_plugin.recording.fitting.observation import Observation, is_eager
from tb_health_plugin.recording.fitting.probes import Probes, number_of, scale_of
from tb_health_plugin.recording.fitting.replay import CannotReplay, Replay
from tb_health_plugin.recording.fitting.step_clock import StepClock
from tb_health_plugin.recording.fitting.updates import Updates

WHAT = "gradients, weights and outputs of layers"
# A trace of ours is about half of the first step, which traces and compiles, too.
_TRACE_PART = 0.5
# What watching an eager step adds to it, until it was measured.
_OBSERVATION_PART = 0.5
NEVER = 1 << 62


@dataclass(slots=True)
class _UnderWay:
    """A look whose step has not ended yet."""

    step: int
    number: int
    resumed_at: float = 0.0
    seconds: float = 0.0
    look: Look | None = None
    weights: list[Any] | None = None


class Inspection:
    """The close looks of one training.

    Args:
        fit: The training.
        clock: Knows how long steps take.
    """

    def __init__(self, fit: Fit, clock: StepClock) -> None:
        self._fit = fit
        self._clock = clock
        self._allowance = allowance_of(fit.recorder)
        self._began_at = time.perf_counter()
        self.schedule = LookSchedule(self._allowance)
        self.probes = Probes(fit.model, lambda: fit.guard.protect(WHAT))
        self.replay = Replay(self.probes)
        self.is_eager = is_eager(fit.model)
        self.is_possible = _runs_alone(fit.model, self.is_eager)
        self._observation = Observation(self.probes)
        self._updates: Updates | None = None
        self._look_seconds: float | None = None
        self._looks = 0
        self._under_way: _UnderWay | None = None

    def begin(self) -> None:
        self._allowance.open()

    def end(self) -> None:
        self.abandon()
        self._allowance.close()

    @property
    def due(self) -> int:
        """Number of the step in this training before which `before` is to be called."""
        is_off = not self.is_possible or self._fit.guard.is_off(WHAT)
        return NEVER if is_off else self.schedule.due

    @property
    def is_under_way(self) -> bool:
        """A step is being looked at."""
        return self._under_way is not None

    def before(self, batch: Any, spec: Any, step: int, number: int) -> None:
        """A step is about to run.

        Args:
            batch: What it is given.
            spec: Types of what all steps are given.
            step: Steps of the attempt finished so far.
            number: Steps of this training finished so far.
        """
        if not self.schedule.may_look(number, self._cost(), self._clock.usual):
            return
        with self._timed(_UnderWay(step, number)) as under_way:
            if self.is_eager:
                self._observation.begin()
            else:
                under_way.look = self.look(batch, spec)
            under_way.weights = self._weights()

    def after(self, logs: Any, *, alone: bool = True) -> Look | None:
        """That step ended; returns what was seen, if somebody looked.

        Args:
            logs: What it reported.
            alone: False if more steps than this one ran.
        """
        under_way, self._under_way = self._under_way, None
        if under_way is None:
            return None
        with self._timed(under_way):
            if self.is_eager:
                under_way.look = self._observation.finish(logs)
            norms = self._update_norms(under_way.weights) if alone else None
            if under_way.look is not None:
                self._told(under_way, under_way.look, norms)
        self._under_way = None
        return under_way.look

    def abandon(self) -> None:
        """The step did not end, or the training did."""
        self._observation.abandon()
        self._under_way = None

    def last_chance(self, batch: Any, spec: Any, step: int, number: int) -> None:
        """The training ended: one look if there was none and it costs little."""
        if self._looks or self.is_eager or self.due == NEVER:
            return
        # A recording without a single look knows too little: its first may cost more.
        extra = 0.0 if self._allowance.was_used else FIXED_SECONDS
        if self._allowance.missing(self._cost() - extra) > 0:
            return
        with self._timed(_UnderWay(step, number)) as under_way:
            self._told(under_way, self.look(batch, spec), None)
        self._under_way = None

    def look(self, batch: Any, spec: Any) -> Look:
        """Looks at a step on `batch`, whatever it costs; not for eager steps."""
        if not self.replay.is_traced:
            self.replay.trace(spec)
        return self.replay.look(batch)

    @contextlib.contextmanager
    def _timed(self, under_way: _UnderWay) -> Iterator[_UnderWay]:
        began = under_way.resumed_at = time.perf_counter()
        worked = time.process_time()
        self._under_way = under_way
        with self._fit.guard.protect(WHAT):
            try:
                yield under_way
            except CannotReplay as error:
                self.is_possible = False
                self._fit.recorder.recording_stopped(WHAT, str(error))
        if self._fit.guard.is_off(WHAT) or not self.is_possible:
            self.abandon()
        seconds = time.perf_counter() - began
        under_way.seconds += seconds
        # Waiting for a CPU that others use is no cost of ours.
        self._allowance.spend(min(seconds, time.process_time() - worked))
        self._fit.spent.recording_seconds += seconds

    def _cost(self) -> float:
        """Seconds that the next look will take, as far as one can know."""
        if self.is_eager:
            return self._look_seconds or _OBSERVATION_PART * self._clock.usual
        if self._look_seconds is not None:
            return self._look_seconds
        return _TRACE_PART * self._clock.first + self._clock.usual

    def _weights(self) -> list[Any] | None:
        model = self._fit.model
        if model.distribute_strategy.num_replicas_in_sync > 1:
            return None
        if self._updates is None:
            variables = [one.value for one in model.trainable_variables]
            self._updates = Updates(variables)
        return self._updates.before()

    def _update_norms(self, before: list[Any] | None) -> Any:
        if before is None or self._updates is None:
            return None
        return self._updates.norms(before)

    def _told(self, under_way: _UnderWay, look: Look, norms: Any) -> None:
        self._looks += 1
        now = time.perf_counter()
        seconds = under_way.seconds + now - under_way.resumed_at
        if self._looks > 1:
            # The first one traced, which no later one does.
            self._look_seconds = seconds
        self.schedule.looked(
            under_way.number,
            now - self._began_at,
            self._clock.usual,
            look.gradient_norm,
        )
        self._fit.recorder.record(self._fact(under_way.step, look, norms, seconds))

    def _fact(
        self, step: int, look: Look, norms: Any, seconds: float
    ) -> facts.Inspected:
        layers = look.outputs[: self.probes.layers]
        return facts.Inspected(
            wall_time=time.time(),
            step=step,
            training=self._fit.training,
            loss=look.loss,
            gradient_norm=look.gradient_norm,
            learning_rate=_learning_rate(self._fit.model),
            loss_scale=scale_of(self._fit.model),
            has_gradient=tuple(float(one) for one in look.has_gradient),
            gradient_norms=_column(look.gradients, 0),
            gradient_nonfinite=_column(look.gradients, 1),
            gradient_zero_fractions=self._zero_fractions(look),
            weight_norms=_column(look.weights, 0),
            update_norms=self._per_variable(norms),
            output_zero_fractions=_column(layers, 0),
            output_dead_fractions=_column(layers, 1),
            output_saturated_fractions=_column(layers, 2),
            output_minimums=_column(layers, 3),
            output_maximums=_column(layers, 4),
            output_stds=_column(layers, 5),
            output_nonfinite=_column(layers, 6),
            seconds=seconds,
            judged_layer=look.judged,
        )

    def _zero_fractions(self, look: Look) -> tuple[float, ...]:
        """Of a sparse gradient, all rows that are not in it are zero."""
        variables = self._fit.model.variables
        return tuple(
            float(1.0 - nonzero / max(1, math.prod(variable.shape)))
            for variable, nonzero in zip(variables, look.gradients[:, 2], strict=True)
        )

    def _per_variable(self, norms: Any) -> tuple[float, ...]:
        if norms is None:
            return ()
        model = self._fit.model
        known = {
            id(variable): float(norm)
            for variable, norm in zip(model.trainable_variables, norms, strict=True)
        }
        return tuple(known.get(id(one), math.nan) for one in model.variables)


def _column(table: Any, index: int) -> tuple[float, ...]:
    return tuple(float(number) for number in table[:, index])


def _learning_rate(model: Any) -> float | None:
    optimizer = getattr(model, "optimizer", None)
    return None if optimizer is None else number_of(optimizer.learning_rate)


def _runs_alone(model: Any, is_eager: bool) -> bool:
    """False where a step of ours could wait for other machines, or replicas."""
    strategy = model.distribute_strategy
    if isinstance(strategy, tf.distribute.MirroredStrategy):
        return not is_eager
    others = (
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.ParameterServerStrategy,
        tf.distribute.TPUStrategy,
    )
    return strategy.num_replicas_in_sync == 1 and not isinstance(strategy, others)
