"""The facts a run leaves behind, one frozen class per kind of fact.

Fields have the names of the messages in `health.proto`, which says what each one
means, its unit and since when it is there. None: not recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    not_recorded: tuple[NotRecorded, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStarted(Fact):
    """A call of `fit` began."""

    training: int | None = None
    model: str | None = None
    initial_epoch: int | None = None
    planned_epochs: int | None = None
    planned_steps_per_epoch: int | None = None
    first_step: int | None = None
    trainable_parameters: int | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEnded(Fact):
    """A training gave control back to the program without an exception."""

    training: int | None = None
    last_step: int | None = None
    epochs_done: int | None = None


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
class RecordingStopped(Fact):
    """Something of ours failed and left a gap; the training went on."""

    what: str | None = None
    why: str | None = None
    began_at: float | None = None
    resumed: bool | None = None


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
