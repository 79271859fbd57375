"""The facts a run leaves behind, one frozen class per kind of fact.

Fields have the names of the messages in `health.proto`, which says what each one
means, its unit and since when it is there. None: not recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def _many(of: type) -> Any:
    """A field that holds any number of `of`."""
    return field(default=(), metadata={"of": of})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something observed at one moment.

    Attributes:
        wall_time: When it was written, in seconds since the epoch.
        step: Training steps finished by then.
    """

    wall_time: float
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRecorded:
    """Something that could have been recorded and is not."""

    what: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Fact):
    """One process that trains has started: the first fact of an attempt."""

    host: str | None = None
    pid: int | None = None
    process_start_ticks: int | None = None
    boot_id: str | None = None
    program: str | None = None
    recorded_by: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    not_recorded: tuple[NotRecorded, ...] = _many(NotRecorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A part of a model that computes something."""

    name: str = ""
    kind: str = ""
    activation: str = ""
    units: int | None = None
    parameters: int | None = None
    trainable: bool | None = None
    is_output: bool | None = None
    is_custom: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A tensor of weights."""

    name: str = ""
    layer: str = ""
    size: int | None = None
    trainable: bool | None = None
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStarted(Fact):
    """A call of `fit`, or of a loop, began."""

    training: int | None = None
    model: str | None = None
    initial_epoch: int | None = None
    planned_epochs: int | None = None
    planned_steps_per_epoch: int | None = None
    first_step: int | None = None
    trainable_parameters: int | None = None
    loop: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[Layer, ...] = _many(Layer)
    variables: tuple[Variable, ...] = _many(Variable)
    planned_validation_steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnded(Fact):
    """An epoch ended, validation included."""

    training: int | None = None
    epoch: int | None = None
    first_step: int | None = None
    last_step: int | None = None
    planned_steps: int | None = None
    started_at: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    validation_steps: int | None = None
    planned_validation_steps: int | None = None
    loss_profile: tuple[float, ...] = _many(float)
    lowest_loss: float | None = None
    highest_loss: float | None = None
    learning_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEnded(Fact):
    """A training gave control back to the program, by returning or raising."""

    training: int | None = None
    last_step: int | None = None
    epochs_done: int | None = None
    reason: str | None = None
    exception: str | None = None
    message: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    during: str | None = None
    callback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested(Fact):
    """Somebody set `model.stop_training`."""

    training: int | None = None
    epoch: int | None = None
    callback: str | None = None
    is_keras: bool | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    monitor: str | None = None
    value: float | None = None
    best: float | None = None
    wait: int | None = None
    patience: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpent(Fact):
    """Where the time of a stretch of a training went."""

    training: int | None = None
    epoch: int | None = None
    since: float | None = None
    seconds: float | None = None
    steps: int | None = None
    examples: int | None = None
    wait_seconds: float | None = None
    step_seconds: float | None = None
    validation_seconds: float | None = None
    validation_wait_seconds: float | None = None
    validation_steps: int | None = None
    callback_seconds: Mapping[str, float] = field(default_factory=dict)
    save_seconds: float | None = None
    recording_seconds: float | None = None
    gc_seconds: float | None = None
    traces: int | None = None
    python_objects: int | None = None
    tensors: int | None = None
    variables: int | None = None
    tensors_kept_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What one tensor of a batch looks like."""

    name: str = ""
    role: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = _many(int)
    nonfinite_count: int | None = None
    bad_row: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    std: float | None = None
    zero_fraction: float | None = None
    features: int | None = None
    constant_features: int | None = None
    lowest_feature_std: float | None = None
    highest_feature_std: float | None = None
    whole_numbers: bool | None = None
    distinct: int | None = None
    values: tuple[float, ...] = _many(float)
    counts: tuple[int, ...] = _many(int)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSeen(Fact):
    """The statistics of one batch; never the data itself."""

    training: int | None = None
    epoch: int | None = None
    batch: int | None = None
    fields: tuple[Field, ...] = _many(Field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected(Fact):
    """One step looked at closely: gradients, weights and outputs of layers.

    What is said per variable and per layer is in the order in which the training's
    `TrainingStarted` names them.
    """

    training: int | None = None
    loss: float | None = None
    gradient_norm: float | None = None
    learning_rate: float | None = None
    loss_scale: float | None = None
    has_gradient: tuple[float, ...] = _many(float)
    gradient_norms: tuple[float, ...] = _many(float)
    gradient_nonfinite: tuple[float, ...] = _many(float)
    gradient_zero_fractions: tuple[float, ...] = _many(float)
    weight_norms: tuple[float, ...] = _many(float)
    update_norms: tuple[float, ...] = _many(float)
    output_zero_fractions: tuple[float, ...] = _many(float)
    output_dead_fractions: tuple[float, ...] = _many(float)
    output_saturated_fractions: tuple[float, ...] = _many(float)
    output_minimums: tuple[float, ...] = _many(float)
    output_maximums: tuple[float, ...] = _many(float)
    output_stds: tuple[float, ...] = _many(float)
    output_nonfinite: tuple[float, ...] = _many(float)
    seconds: float | None = None
    judged_layer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBadNumber(Fact):
    """A loss, gradient or weight became NaN or infinite, and where that began."""

    training: int | None = None
    epoch: int | None = None
    bad_step: int | None = None
    seen_in: str | None = None
    value: str | None = None
    began_in: str | None = None
    name: str | None = None
    kind: str | None = None
    row: int | None = None
    op: str | None = None
    how: str | None = None
    exact: bool | None = None
    reproduced: bool | None = None
    bad_layers: tuple[str, ...] = _many(str)
    bad_variables: tuple[str, ...] = _many(str)
    steps_before: tuple[int, ...] = _many(int)
    losses_before: tuple[float, ...] = _many(float)
    gradient_norms_before: tuple[float, ...] = _many(float)
    input_scale: float | None = None
    usual_input_scale: float | None = None
    fields: tuple[Field, ...] = _many(Field)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSaid(Fact):
    """A warning or error that the program, TensorFlow or Keras gave out."""

    logger: str | None = None
    level: str | None = None
    message: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Fact):
    """The model, or its weights, were saved."""

    training: int | None = None
    path: str | None = None
    seconds: float | None = None
    size_bytes: int | None = None
    ok: bool | None = None
    callback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident(Fact):
    """Something worth a mark on the timeline."""

    kind: str | None = None
    severity: str | None = None
    message: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    happened_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Fact):
    """How the process, or the recording of it, ended: the last fact."""

    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    exception: str | None = None
    message: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    last_step: int | None = None
    training_under_way: bool | None = None
    happened_at: float | None = None
    function: str | None = None
    during: str | None = None
    callback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded(Fact):
    """The process that trains is gone; written by the watcher."""

    exit_code: int | None = None
    signal: int | None = None
    seen_by: str | None = None
    cgroup_oom_kills: int | None = None
    machine_oom_kills: int | None = None
    peak_memory_bytes: float | None = None
    memory_limit_bytes: float | None = None
    stacks: str | None = None
    output_tail: str | None = None
    silent_seconds: float | None = None
    last_step: int | None = None
    phase: str | None = None
    log_tail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled(Fact):
    """No step finished for far longer than usual in this run."""

    since: float | None = None
    silent_seconds: float | None = None
    usual_seconds: float | None = None
    phase: str | None = None
    stacks: str | None = None
    waits_for: str | None = None
    because: str | None = None
    cpu_fraction: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StallEnded(Fact):
    """A stall is over: the training went on."""

    since: float | None = None
    silent_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded(Fact):
    """A signal ended a process of the trainer, while the trainer went on."""

    pid: int | None = None
    name: str | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShared(Fact):
    """A process that is not of this training uses one of its GPUs."""

    gpu: int | None = None
    pid: int | None = None
    name: str | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuAllocator(Fact):
    """What TensorFlow really uses of the GPU memory that it reserved."""

    training: int | None = None
    gpu: int | None = None
    used_bytes: float | None = None
    peak_bytes: float | None = None
    limit_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingStopped(Fact):
    """Something of ours failed and left a gap; the training went on."""

    what: str | None = None
    why: str | None = None
    began_at: float | None = None
    resumed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesChosen(Fact):
    """How the user wants rules to judge this run."""

    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Fact):
    """All numbers of one moment, or a table of them, by column.

    Attributes:
        tag: Which series it belongs to.
        columns: The names of the numbers.
        rows: The names of the rows of a table; empty for a plain sample.
        values: The numbers, row by row.
    """

    tag: str
    columns: tuple[str, ...]
    rows: tuple[str, ...] = ()
    values: tuple[float, ...] = ()


SEVERITIES = ("info", "warning", "critical")
