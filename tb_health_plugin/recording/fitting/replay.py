"""Runs a training step on a batch once more, without training, and measures it.

The step is the model's own `train_step`, traced for itself, so that the graph that
trains stays as it is. Optimizers are kept from updating, and everything else that
the step changes is put back, to the last bit.
"""

from typing import Any

import keras
import tensorflow as tf

from tb_health_plugin.recording.fitting.bad_operation import bad_operation
from tb_health_plugin.recording.fitting.look import Legend, Look, numbers_of
from tb_health_plugin.recording.fitting.model_state import (
    Kept,
    everything,
    plain,
    remembered,
)
from tb_health_plugin.recording.fitting.own_traces import ours
from tb_health_plugin.recording.fitting.probes import Measured, Probes

# Beginnings of names of operations whose effect cannot be taken back.
_SIDE_EFFECTS = (
    "PyFunc",
    "EagerPyFunc",
    "Print",
    "WriteAudioSummary",
    "WriteFile",
    "WriteGraphSummary",
    "WriteHistogramSummary",
    "WriteImageSummary",
    "WriteRawProtoSummary",
    "WriteScalarSummary",
    "WriteSummary",
    "Save",
    "LookupTableImport",
    "LookupTableInsert",
    "LookupTableRemove",
    "QueueEnqueue",
)


class CannotReplay(Exception):
    """The step does something that must not be done twice."""


class Replay:
    """Looks at steps of one model.

    Args:
        probes: Those of the model.
    """

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._model = probes.model
        self._strategy = probes.model.distribute_strategy
        self._legend: Legend | None = None
        self._concrete: Any = None
        self._saved: list[Any] = []

    @property
    def is_traced(self) -> bool:
        return self._concrete is not None

    def trace(self, spec: Any) -> None:
        """Makes the graph; nothing runs.

        Args:
            spec: Types of what the step is given, as the iterator knows them.

        Raises:
            CannotReplay: The step has effects that cannot be taken back.
        """
        with ours(), self._probes.in_place(update=False):
            replayed = tf.autograph.experimental.do_not_convert(self._replayed)
            concrete = tf.function(replayed).get_concrete_function(spec)
        _refuse_side_effects(concrete)
        self._saved = self._may_change(concrete)
        self._concrete = concrete

    def look(self, batch: Any) -> Look:
        """Looks at a step on `batch` with the model as it is."""
        if self._legend is None:
            raise RuntimeError("nothing was traced yet")
        kept = Kept(self._saved)
        try:
            numbers = self._concrete(batch)
        finally:
            kept.put_back()
        return self._legend.look(numbers)

    def bad_operation(self, good: Any, bad: Any, *, is_eager: bool) -> str | None:
        """The operation that gives out the first bad number of a step on `bad`.

        Of a step that was never traced, what it changes is left to be put back.
        """
        if self._strategy.num_replicas_in_sync > 1:
            return None
        kept = Kept(self._saved)
        with ours(), self._probes.in_place(update=False):
            return bad_operation(
                lambda batch: self._model.train_step(_without_optionals(batch)),
                good,
                bad,
                put_back=kept.put_back,
                is_eager=is_eager,
            )

    def _replayed(self, batch: Any) -> Any:
        numbers = self._strategy.run(self._step, args=(batch,))
        return [self._strategy.experimental_local_results(one)[0] for one in numbers]

    def _step(self, batch: Any) -> Any:
        measured = self._probes.measured = Measured(self._model)
        try:
            if not is_standard(self._model):
                # So that what the step reports is about this batch alone.
                for metric in self._model.metrics:
                    metric.reset_state()
            logs = self._model.train_step(_without_optionals(batch))
        finally:
            self._probes.measured = None
        numbers, self._legend = numbers_of(self._probes, measured, logs)
        return numbers

    def _may_change(self, concrete: Any) -> list[Any]:
        """Variables that a replay may change."""
        model, strategy = self._model, self._strategy
        variables = everything(model) + plain(concrete.variables, strategy)
        found = {id(one): one for one in variables}
        if is_standard(model):
            untouched = [*model.trainable_variables, *remembered(model)]
            for one in plain(untouched, strategy):
                found.pop(id(one), None)
        return list(found.values())


def is_standard(model: Any) -> bool:
    """True if the model trains by Keras' own step."""
    is_own = "train_step" in vars(model)
    return type(model).train_step is keras.Model.train_step and not is_own


def _without_optionals(batch: Any) -> Any:
    """A part that is missing comes as an optional without a value; Keras drops it."""
    return tf.nest.map_structure(
        lambda one: None if isinstance(one, tf.experimental.Optional) else one, batch
    )


def _refuse_side_effects(concrete: Any) -> None:
    graph = concrete.graph
    kinds = {operation.type for operation in graph.get_operations()}
    for function in graph.as_graph_def().library.function:
        kinds |= {node.op for node in function.node_def}
    for kind in sorted(kinds):
        if kind.startswith(_SIDE_EFFECTS):
            raise CannotReplay(f"a training step has the operation {kind}")
