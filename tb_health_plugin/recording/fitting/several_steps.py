"""The gate for models that run several steps per execution.

There the steps of an execution and their batches stay inside TensorFlow, which is
what the program wanted: only some executions are taken apart, and the wait for data of
the others is taken to have the same share. Where steps are long, all are.
"""

from time import perf_counter
from typing import Any

from tb_health_plugin.recording.fitting.around import Around
from tb_health_plugin.recording.fitting.fit import Fit, Raised
from tb_health_plugin.recording.fitting.handed_over import END_OF_DATA
from tb_health_plugin.recording.fitting.step_watch import StepWatch

# Handing over one batch takes some tenths of a millisecond: nothing beside this.
_LONG_STEP_SECONDS = 0.02
# The first execution is traced, the next few tell most, then one in so many.
_FIRST_TAKEN_APART = range(1, 4)
_ONE_IN = 64


class SeveralSteps(Around):
    """Around the `train_function` of such a model."""

    def __init__(self, fit: Fit, watch: StepWatch) -> None:
        super().__init__(fit.model, "train_function")
        self._fit = fit
        self._watch = watch
        self._steps = int(fit.model.steps_per_execution)
        self._executions = 0
        self._wait_share = 0.0

    def call(self, iterator: Any) -> Any:
        number, self._executions = self._executions, self._executions + 1
        is_long = number > 0 and self._watch.clock.usual >= _LONG_STEP_SECONDS
        if is_long or number in _FIRST_TAKEN_APART or number % _ONE_IN == 1:
            return self._taken_apart(iterator)
        began = perf_counter()
        try:
            logs = self._inner(iterator)
        except BaseException as error:
            if not isinstance(error, END_OF_DATA):
                self._fit.raised = Raised(error, "step")
            raise
        seconds = perf_counter() - began
        wait = self._wait_share * seconds
        self._watch.unseen(wait, seconds - wait, self._steps)
        return logs

    def _taken_apart(self, iterator: Any) -> Any:
        watch = self._watch
        batches = _Batches(self._fit, watch, iterator, self._steps)
        first = batches.fetch()
        watch.before(first, iterator)
        began, waited = perf_counter(), batches.wait
        try:
            logs = self._inner(batches)
        except BaseException as error:
            watch.failed()
            if not batches.has_raised:
                self._fit.raised = Raised(error, "step")
            raise
        seconds = perf_counter() - began - (batches.wait - waited)
        self._wait_share = batches.wait / max(batches.wait + seconds, 1e-9)
        watch.after(first, logs, batches.wait, seconds, batches.count)
        return logs


class _Batches:
    """The batches of one execution, fetched as they are asked for."""

    def __init__(self, fit: Fit, watch: StepWatch, iterator: Any, most: int) -> None:
        self._fit = fit
        self._watch = watch
        self._iterator = iterator
        self._most = most
        self._first: Any = None
        self.wait = 0.0
        self.count = 0
        self.has_raised = False

    def fetch(self) -> Any:
        began = perf_counter()
        try:
            batch = next(self._iterator)
        except END_OF_DATA:
            raise
        except BaseException as error:
            self.has_raised = True
            self._fit.raised = Raised(error, "data")
            raise
        self.wait += perf_counter() - began
        if self.count == 0:
            self._first = batch
        self.count += 1
        return batch

    def __iter__(self) -> "_Batches":
        return self

    def __next__(self) -> Any:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        if self.count == self._most:
            raise StopIteration
        batch = self.fetch()
        self._watch.next_one(batch, self.count - 1)
        return batch
