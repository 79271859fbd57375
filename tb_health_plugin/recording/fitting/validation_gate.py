"""Measures how long a validation waits for its batches."""

from time import perf_counter
from typing import Any

from tb_health_plugin.recording.fitting.around import Unseen
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.handed_over import trace_for
from tb_health_plugin.recording.fitting.inside import inside
from tb_health_plugin.recording.fitting.observation import is_eager

_WHAT = "the time that a validation waits for data"


class ValidationGate(Unseen):
    """Around `make_test_function`, since Keras makes that function only when needed."""

    def __init__(self, fit: Fit) -> None:
        super().__init__(fit.model, "make_test_function")
        self._fit = fit
        self._gate: _TestStep | None = None

    def call(self, *args: Any, **kwargs: Any) -> Any:
        made = self._inner(*args, **kwargs)
        with self._fit.guard.protect(_WHAT):
            model = self._fit.model
            is_ours = self._gate is not None and model.test_function is self._gate
            if model.steps_per_execution == 1 and not is_ours:
                self._gate = _TestStep(self._fit)
                self._gate.put()
        return made

    def remove(self) -> None:
        super().remove()
        if self._gate is not None:
            self._gate.remove()
            self._gate = None


class _TestStep(Unseen):
    """Around the `test_function`."""

    def __init__(self, fit: Fit) -> None:
        super().__init__(fit.model, "test_function")
        self._fit = fit
        self._is_traced = is_eager(fit.model)

    def call(self, iterator: Any) -> Any:
        if inside.callback is not None:
            # A callback evaluates on its own account.
            return self._inner(iterator)
        began = perf_counter()
        batch = next(iterator)
        wait = perf_counter() - began
        with self._fit.guard.protect(_WHAT):
            spent = self._fit.spent
            so_far = spent.validation_wait_seconds or 0.0
            spent.validation_wait_seconds = so_far + wait
        if not self._is_traced:
            self._is_traced = True
            trace_for(self._inner, iterator)
        return self._inner(iter((batch,)))
