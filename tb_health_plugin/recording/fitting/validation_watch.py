"""Notes an exception that leaves the validation of a `fit`."""

from typing import Any

from tb_health_plugin.recording.fitting.around import Unseen
from tb_health_plugin.recording.fitting.fit import Fit, Raised
from tb_health_plugin.recording.fitting.inside import inside


class ValidationWatch:
    """Stands around `model.evaluate`, which `fit` calls to validate."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._around: _Evaluate | None = None

    def begin(self) -> None:
        self._around = _Evaluate(self._fit)
        self._around.put()

    def end(self) -> None:
        if self._around is not None:
            self._around.remove()
            self._around = None


class _Evaluate(Unseen):
    def __init__(self, fit: Fit) -> None:
        super().__init__(fit.model, "evaluate")
        self._fit = fit

    def call(self, *args: Any, **kwargs: Any) -> Any:
        if inside.callback is not None:
            # A callback evaluates on its own account, and may catch what it raises.
            return self._inner(*args, **kwargs)
        try:
            return self._inner(*args, **kwargs)
        except BaseException as error:
            self._fit.raised = Raised(error, "validation")
            raise
