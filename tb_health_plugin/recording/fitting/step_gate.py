"""Stands between Keras' loop and its training step: every batch passes here.

Keras hands its step an iterator. The gate takes the batch out of it, so that the wait
for data can be told from the step, and hands on an iterator with just that batch. The
step itself is the program's own, traced as it would have been, with the same results.
"""

import threading
from time import perf_counter
from typing import Any

import keras

from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.fit import Fit, Raised
from tb_health_plugin.recording.fitting.handed_over import (
    END_OF_DATA,
    made_anew,
    trace_for,
)
from tb_health_plugin.recording.fitting.observation import is_eager
from tb_health_plugin.recording.fitting.several_steps import SeveralSteps
from tb_health_plugin.recording.fitting.step_watch import StepWatch
from tb_health_plugin.recording.fitting.validation_gate import ValidationGate

# From this version on Keras' step takes plain iterators, too.
_OLDEST_KERAS = (3, 8)
_WHAT_ALL = "waits for data, batches, gradients and where a bad number began"


class StepGate:
    """The gate of one training, and what watches its batches."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._thread = threading.get_ident()
        self._watch: StepWatch | None = None
        self._gates: list[Around] = []

    def begin(self) -> None:
        fit = self._fit
        self._watch = StepWatch(fit, fit.model.train_function)
        gate: Around
        if fit.model.steps_per_execution == 1:
            gate = _OneStep(fit, self._watch)
        else:
            gate = SeveralSteps(fit, self._watch)
        self._gates = [gate, ValidationGate(fit)]
        for one in self._gates:
            one.put()

    def end(self) -> None:
        while self._gates:
            self._gates.pop().remove()
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end(is_trainer=threading.get_ident() == self._thread)


class _OneStep(Around):
    """Around the `train_function` of a model with one step per execution."""

    def __init__(self, fit: Fit, watch: StepWatch) -> None:
        super().__init__(fit.model, "train_function")
        self._fit = fit
        self._watch = watch
        self._is_traced = is_eager(fit.model)
        self._ends_in_step = _ends_in_step(fit.model)

    def call(self, iterator: Any) -> Any:
        watch = self._watch
        began = perf_counter()
        try:
            batch = next(iterator)
        except END_OF_DATA:
            if self._ends_in_step:
                return self._inner(iterator)
            raise
        except BaseException as error:
            self._fit.raised = Raised(error, "data")
            raise
        wait = perf_counter() - began
        watch.before(batch, iterator)
        began = perf_counter()
        try:
            if not self._is_traced:
                self._is_traced = True
                if not trace_for(self._inner, iterator):
                    self._inner = made_anew(self._fit.model)
            logs = self._inner(iter((batch,)))
        except BaseException as error:
            watch.failed()
            self._fit.raised = Raised(error, "step")
            raise
        watch.after(batch, logs, wait, perf_counter() - began)
        return logs


def _ends_in_step(model: Any) -> bool:
    """True if Keras' step does something when the data has ended.

    In a graph without XLA, the optimizer's count of steps and seeds for random numbers
    advance while the step waits for a batch that never comes. The next epoch is only
    the same if that happens, too.
    """
    is_alone = model.distribute_strategy.num_replicas_in_sync == 1
    return is_alone and not model.jit_compile and not is_eager(model)


def step_gate(fit: Fit) -> StepGate | None:
    """None where Keras' step does not take batches from us."""
    version = tuple(int(part) for part in keras.__version__.split(".")[:2])
    why = ""
    if keras.backend.backend() != "tensorflow":
        why = f"Keras runs on {keras.backend.backend()} here, not on TensorFlow"
    elif version < _OLDEST_KERAS:
        needed = ".".join(map(str, _OLDEST_KERAS))
        why = f"it needs Keras {needed} or newer, and this is {keras.__version__}"
    if why:
        fit.recorder.recording_stopped(_WHAT_ALL, why)
        return None
    return StepGate(fit) if fit.model.train_function is not None else None
