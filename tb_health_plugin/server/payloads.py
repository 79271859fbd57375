"""The JSON of `http_api.md` as types."""

from typing import TypedDict

from tb_health_plugin.diagnosis.as_json import (
    NotMeasuredPayload,
    SilencedPayload,
    TunedPayload,
    VerdictPayload,
    WorkersPayload,
)


class Mark(TypedDict):
    """A place on the way where something happened."""

    step: int
    severity: str


class RunRow(TypedDict):
    """One row of the run list."""

    name: str
    monitored: bool
    judged: bool
    state: str | None
    chip: str
    severity: str | None
    headline: str
    started_at: float | None
    last_seen_at: float | None
    ended_at: float | None
    ran_for_seconds: float | None
    step: int | None
    planned_steps: int | None
    epoch: int | None
    planned_epochs: int | None
    peak_memory_bytes: float | None
    memory_limit_bytes: float | None
    data_wait_fraction: float | None
    gpu_busy_fraction: float | None
    marks: list[Mark]
    attempts: int
    tensorboard_runs: list[str]


class ProblemPayload(TypedDict):
    """A file that could not be read as a whole."""

    run: str
    file: str
    message: str


class Reading(TypedDict):
    """How far the log directory has been read, and its runs judged."""

    complete: bool
    runs_found: int
    runs_read: int
    runs_judged: int
    problems: list[ProblemPayload]


class RunList(TypedDict):
    """`GET /runs`."""

    logdirs: list[str]
    reading: Reading
    runs: list[RunRow]


class AttemptPayload(TypedDict):
    """One process that trained."""

    id: str
    host: str | None
    pid: int | None
    started_at: float | None
    last_seen_at: float | None
    state: str
    first_step: int
    last_step: int


class EpochPayload(TypedDict):
    """One epoch that ended."""

    epoch: int | None
    first_step: int | None
    last_step: int | None
    planned_steps: int | None
    started_at: float | None
    ended_at: float
    metrics: dict[str, float]


class PhasePayload(TypedDict):
    """A stretch in which no training steps were made."""

    what: str
    from_time: float
    to_time: float
    step: int


class FramePayload(TypedDict):
    """One line of Python that had not returned."""

    file: str
    line: int
    function: str
    library: bool


class ThreadPayload(TypedDict):
    """The calls of one thread, outermost first."""

    trains: bool
    frames: list[FramePayload]


class IncidentPayload(TypedDict):
    """A mark on the timeline, with its text and the stacks in it."""

    id: str
    kind: str
    severity: str
    message: str
    step: int
    wall_time: float
    text: str | None
    threads: list[ThreadPayload]


class SeriesPayload(TypedDict):
    """One line of a lane."""

    column: str
    title: str


class LimitPayload(TypedDict):
    """A value that must not be reached."""

    value: float
    label: str


class LanePayload(TypedDict):
    """One strip of the timeline."""

    id: str
    title: str
    unit: str
    series: list[SeriesPayload]
    limits: list[LimitPayload]


class RunStory(TypedDict):
    """`GET /run`."""

    run: RunRow
    verdict: VerdictPayload | None
    findings: list[VerdictPayload]
    not_measured: list[NotMeasuredPayload]
    silenced: list[SilencedPayload]
    tuned: list[TunedPayload]
    attempts: list[AttemptPayload]
    workers: WorkersPayload | None
    epochs: list[EpochPayload]
    phases: list[PhasePayload]
    incidents: list[IncidentPayload]
    lanes: list[LanePayload]
    settings: dict[str, str]


class SeriesPoints(TypedDict):
    """The points of one line."""

    column: str
    mean: list[float | None]
    min: list[float | None]
    max: list[float | None]


class LanePoints(TypedDict):
    """`GET /lane`."""

    lane: str
    samples: int
    bucketed: bool
    time: list[float]
    step: list[int]
    series: list[SeriesPoints]


class PlacePayload(TypedDict):
    """A place on the axis of a comparison, with step and time of A."""

    x: float
    step: int
    wall_time: float


# "from" is a word of Python, so this one is not written as a class.
SignalPayload = TypedDict(
    "SignalPayload",
    {
        "id": str,
        "title": str,
        "unit": str,
        "lane": str,
        "column": str,
        "kind": str,
        "what": str,
        "a": str,
        "b": str,
        "from": str,
        "a_value": float | None,
        "b_value": float | None,
        "strength": float,
        "from_start": bool,
        "begins": PlacePayload | None,
        "ends": PlacePayload | None,
    },
)


class SettingPayload(TypedDict):
    """A setting of both runs; None where it was not seen."""

    name: str
    a: str | None
    b: str | None


class SuggestionPayload(TypedDict):
    """The setting to try first."""

    setting: str
    why: str


class ComparedLanePayload(TypedDict):
    """One strip that draws both runs."""

    id: str
    title: str
    unit: str
    lane: str
    column: str
    in_a: bool
    in_b: bool
    limits: list[LimitPayload]


class ClockPayload(TypedDict):
    """How steps, times and epochs of a run belong together."""

    started_at: float
    ended_at: float
    last_step: int
    epoch_steps: list[float]
    epochs: list[float]


class ClocksPayload(TypedDict):
    """The clocks of both runs."""

    a: ClockPayload
    b: ClockPayload


class ComparisonPayload(TypedDict):
    """`GET /compare`."""

    a: RunRow
    b: RunRow | None
    picked: str | None
    align: str
    headline: str
    summary: str
    note: str | None
    rule: str
    first: str | None
    signals: list[SignalPayload]
    settings: list[SettingPayload]
    same_settings: list[SettingPayload]
    try_first: SuggestionPayload | None
    lanes: list[ComparedLanePayload]
    clocks: ClocksPayload | None


class WorkerRow(TypedDict):
    """One row of a heat map: one worker, or several neighbours."""

    name: str
    workers: int
    part: str
    values: list[float | None]


class WorkerCells(TypedDict):
    """`GET /workers`."""

    quantity: str
    unit: str
    time: list[float]
    rows: list[WorkerRow]


class LooksPayload(TypedDict):
    """The steps that were looked at closely."""

    step: list[int]
    time: list[float]


class LayerPayload(TypedDict):
    """A layer, its gradients by look, and how it stood at the last look."""

    name: str
    kind: str
    activation: str
    units: int | None
    parameters: int | None
    trainable: bool | None
    gradient_norms: list[float | None]
    weight_norm: float | None
    update_norm: float | None
    zero_fraction: float | None
    dead_fraction: float | None
    saturated_fraction: float | None


class FieldPayload(TypedDict):
    """One tensor of the last batch that was looked at."""

    name: str
    role: str
    dtype: str
    shape: list[int]
    minimum: float | None
    maximum: float | None
    mean: float | None
    std: float | None
    zero_fraction: float | None
    nonfinite_count: int | None
    distinct: int | None


class DataPayload(TypedDict):
    """Where the batches come from, and what one looks like."""

    kind: str | None
    stages: list[str]
    settings: dict[str, str]
    batches_seen: int
    fields: list[FieldPayload]


class TimePayload(TypedDict):
    """What time was spent on."""

    what: str
    seconds: float


class TrainingPayload(TypedDict):
    """`GET /training`."""

    looks: LooksPayload
    layers: list[LayerPayload]
    data: DataPayload
    time: list[TimePayload]


class EventPayload(TypedDict):
    """One fact as it was recorded."""

    kind: str
    step: int
    wall_time: float
    text: str


class EventsPayload(TypedDict):
    """`GET /events`."""

    total: int
    events: list[EventPayload]
