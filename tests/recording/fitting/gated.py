"""Runs a small training behind the gate, and collects what is recorded."""

import math
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.step_gate import StepGate
from tb_health_plugin.recording.guard import Guard
from tests.recording.fitting.fake_fit import FakeRecorder


@dataclass
class FakeProgress:
    step: int = 0
    loss: float = NOT_MEASURED
    wait_seconds: float = NOT_MEASURED


class GatedRecorder(FakeRecorder):
    def __init__(self) -> None:
        super().__init__()
        self.progress = FakeProgress()

    def recording_stopped(self, what: str, why: str) -> None:
        self.fault(what, why)


class Gated(keras.callbacks.Callback):
    """As little of the real callback as the gate needs."""

    def __init__(self) -> None:
        super().__init__()
        self.recorder = GatedRecorder()
        self.fit: Any = None

    def on_train_begin(self, logs=None) -> None:
        self.fit = Fit(
            recorder=self.recorder,
            guard=Guard(self.recorder.recording_stopped),
            model=self.model,
            arguments={},
            params=self.params,
            callbacks=[],
            training=0,
        )
        self.gate = StepGate(self.fit)
        self.gate.begin()

    def on_epoch_begin(self, epoch, logs=None) -> None:
        self.fit.epoch = epoch
        self.fit.epoch_first_step = self.recorder.progress.step

    def on_train_batch_end(self, batch, logs=None) -> None:
        progress = self.recorder.progress
        progress.step = self.fit.epoch_first_step + batch + 1
        progress.loss = float(logs.get("loss", next(iter(logs.values()))))
        if not math.isfinite(progress.loss) and self.fit.nonfinite_at is None:
            self.fit.nonfinite_at = progress.step - 1

    def on_train_end(self, logs=None) -> None:
        self.gate.end()

    def all(self, kind: type) -> list[Any]:
        return [fact for fact in self.recorder.facts if isinstance(fact, kind)]

    @property
    def looks(self) -> list[facts.Inspected]:
        assert self.recorder.faults == [], self.recorder.faults
        return self.all(facts.Inspected)

    @property
    def bad_number(self) -> facts.FirstBadNumber:
        assert self.recorder.faults == [], self.recorder.faults
        (found,) = self.all(facts.FirstBadNumber)
        return found


def bits_of(model: Any) -> list[bytes]:
    """Everything in a model that training changes."""
    variables = [*model.variables, *model.optimizer.variables]
    return [tf.convert_to_tensor(one).numpy().tobytes() for one in variables]
