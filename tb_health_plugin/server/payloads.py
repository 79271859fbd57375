"""The JSON of `http_api.md` as types."""

from typing import TypedDict

from tb_health_plugin.diagnosis.as_json import (
    NotMeasuredPayload,
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
    """How far the log directory has been read."""

    complete: bool
    runs_found: int
    runs_read: int
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


class IncidentPayload(TypedDict):
    """A mark on the timeline, with its text."""

    id: str
    kind: str
    severity: str
    message: str
    step: int
    wall_time: float
    text: str | None


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
    attempts: list[AttemptPayload]
    workers: WorkersPayload | None
    epochs: list[EpochPayload]
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
