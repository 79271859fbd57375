"""Counts how often the model's Python code is traced into a graph during `fit`."""

import sys
from typing import Any

import keras

from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.own_traces import is_ours
from tb_health_plugin.recording.loops.numbers import inside_function

_WHAT = "how often the model is traced"


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
        # Only what is ours: what it calls stays with autograph.
        tf: Any = sys.modules["tensorflow"]
        self._note = tf.autograph.experimental.do_not_convert(self._count)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        self._note()
        return self._inner(*args, **kwargs)

    def _count(self) -> None:
        with self._fit.guard.protect(_WHAT):
            if inside_function() and not is_ours():
                self._fit.spent.traces = (self._fit.spent.traces or 0) + 1


def trace_count(fit: Fit) -> TraceCount | None:
    """None where Keras runs on something else than TensorFlow."""
    return TraceCount(fit) if keras.backend.backend() == "tensorflow" else None
