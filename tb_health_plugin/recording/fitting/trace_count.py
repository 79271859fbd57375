"""Counts how often the model's Python code is traced into a graph during `fit`."""

from typing import Any

import keras

from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.own_traces import is_ours


class TraceCount:
    """Stands around `model.call`: in a graph it runs only while that is traced."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._around: _Call | None = None

    def begin(self) -> None:
        self._fit.spent.traces = 0
        self._around = _Call(self._fit)
        self._around.put()

    def end(self) -> None:
        if self._around is not None:
            self._around.remove()
            self._around = None


class _Call(Around):
    def __init__(self, fit: Fit) -> None:
        super().__init__(fit.model, "call")
        self._fit = fit

    def call(self, *args: Any, **kwargs: Any) -> Any:
        if _is_tracing() and not is_ours():
            self._fit.spent.traces = (self._fit.spent.traces or 0) + 1
        return self._inner(*args, **kwargs)


def _is_tracing() -> bool:
    import tensorflow as tf  # noqa: PLC0415 - only there if Keras runs on it

    return not tf.executing_eagerly()


def trace_count(fit: Fit) -> TraceCount | None:
    """None where Keras runs on something else than TensorFlow."""
    return TraceCount(fit) if keras.backend.backend() == "tensorflow" else None
