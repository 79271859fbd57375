// Turns a JSON answer into its type, filling in whatever is missing.
//
// The server may be older or newer than this page, so nothing here throws: a missing
// list is empty, a missing value is null, a word we do not know becomes the mildest one.
import type {
  Attempt,
  Doc,
  Epoch,
  EpochMoment,
  Evidence,
  Finding,
  Fix,
  Incident,
  LaneInfo,
  LaneLimit,
  LanePoints,
  LaneSeries,
  Mark,
  Maybe,
  NotMeasured,
  Phase,
  Place,
  Reading,
  ReadingProblem,
  RunList,
  RunRow,
  RunState,
  SeriesPoints,
  Severity,
  Silenced,
  StackFrame,
  StackThread,
  Story,
  Tuned,
  Unit,
  Worker,
  WorkerPart,
  Workers,
} from "./api-types";
import {
  fields,
  isFields,
  list,
  number,
  oneOf,
  record,
  text,
  words,
} from "./json-fields";

const STATES: readonly RunState[] = [
  "running",
  "stuck",
  "finished",
  "ended_early",
  "failed",
  "died",
  "unknown",
];
const SEVERITIES: readonly Severity[] = ["info", "warning", "critical"];
export const UNITS: readonly Unit[] = [
  "bytes",
  "fraction",
  "seconds",
  "count",
  "per_second",
  "celsius",
  "watts",
  "number",
];

function severity(value: unknown): Severity {
  return oneOf(SEVERITIES, value) ?? "info";
}

function state(value: unknown): Maybe<RunState> {
  if (value === null || value === undefined) return null;
  return oneOf(STATES, value) ?? "unknown";
}

function setting(value: unknown): string {
  return text(value) ?? JSON.stringify(value) ?? "";
}

function mark(value: unknown): Mark {
  const given = fields(value);
  return { step: number(given.step) ?? 0, severity: severity(given.severity) };
}

export function runRow(value: unknown): RunRow {
  const given = fields(value);
  const monitored = given.monitored === true;
  return {
    name: words(given.name),
    monitored,
    state: state(given.state),
    chip: words(given.chip),
    severity: monitored ? severity(given.severity) : null,
    headline: words(given.headline),
    started_at: number(given.started_at),
    last_seen_at: number(given.last_seen_at),
    ended_at: number(given.ended_at),
    ran_for_seconds: number(given.ran_for_seconds),
    step: number(given.step),
    planned_steps: number(given.planned_steps),
    epoch: number(given.epoch),
    planned_epochs: number(given.planned_epochs),
    peak_memory_bytes: number(given.peak_memory_bytes),
    memory_limit_bytes: number(given.memory_limit_bytes),
    data_wait_fraction: number(given.data_wait_fraction),
    gpu_busy_fraction: number(given.gpu_busy_fraction),
    marks: list(given.marks, mark),
    attempts: number(given.attempts) ?? 0,
    tensorboard_runs: list(given.tensorboard_runs, words),
  };
}

function problem(value: unknown): ReadingProblem {
  const given = fields(value);
  return {
    run: words(given.run),
    file: words(given.file),
    message: words(given.message),
  };
}

function reading(value: unknown): Reading {
  const given = fields(value);
  return {
    complete: given.complete !== false,
    runs_found: number(given.runs_found) ?? 0,
    runs_read: number(given.runs_read) ?? 0,
    problems: list(given.problems, problem),
  };
}

export function decodeRunList(value: unknown): RunList {
  const given = fields(value);
  return {
    logdirs: list(given.logdirs, words),
    reading: reading(given.reading),
    runs: list(given.runs, runRow),
  };
}

function moment(value: unknown): Maybe<EpochMoment> {
  if (!isFields(value)) return null;
  return {
    step: number(value.step),
    epoch: number(value.epoch),
    wall_time: number(value.wall_time),
  };
}

function place(value: unknown): Maybe<Place> {
  if (!isFields(value)) return null;
  const known: Place = {};
  for (const [name, part] of Object.entries(value)) {
    if (typeof part === "string" || typeof part === "number") known[name] = part;
  }
  return known;
}

function evidence(value: unknown): Evidence {
  const given = fields(value);
  return {
    text: words(given.text),
    strength: given.strength === "strong" ? "strong" : "supporting",
    lane: text(given.lane),
    step: number(given.step),
    wall_time: number(given.wall_time),
  };
}

function fix(value: unknown): Fix {
  const given = fields(value);
  return { title: words(given.title), why: words(given.why), code: text(given.code) };
}

function doc(value: unknown): Doc {
  const given = fields(value);
  return { name: words(given.name), url: words(given.url) };
}

function finding(value: unknown): Finding {
  const given = fields(value);
  return {
    id: words(given.id),
    detail: text(given.detail),
    severity: severity(given.severity),
    confidence: oneOf(["proven", "likely", "possible"], given.confidence) ?? "possible",
    headline: words(given.headline),
    because: words(given.because),
    cause_at: moment(given.cause_at),
    stopped_at: moment(given.stopped_at),
    place: place(given.place),
    evidence: list(given.evidence, evidence),
    fixes: list(given.fixes, fix),
    docs: list(given.docs, doc),
    caused_by: text(given.caused_by),
  };
}

function notMeasured(value: unknown): NotMeasured {
  const given = fields(value);
  return {
    what: words(given.what),
    why: words(given.why),
    enable: text(given.enable),
  };
}

function silencedRule(value: unknown): Silenced {
  const given = fields(value);
  return { rule: words(given.rule), by: words(given.by) };
}

function tunedNumber(value: unknown): Tuned {
  const given = fields(value);
  return {
    name: words(given.name),
    value: number(given.value) ?? Number.NaN,
    default: number(given.default) ?? Number.NaN,
    by: words(given.by),
  };
}

function attempt(value: unknown): Attempt {
  const given = fields(value);
  return {
    id: words(given.id),
    host: text(given.host),
    pid: number(given.pid),
    started_at: number(given.started_at),
    last_seen_at: number(given.last_seen_at),
    state: state(given.state),
    first_step: number(given.first_step),
    last_step: number(given.last_step),
  };
}

function epoch(value: unknown): Epoch {
  const given = fields(value);
  return {
    epoch: number(given.epoch) ?? 0,
    first_step: number(given.first_step),
    last_step: number(given.last_step),
    planned_steps: number(given.planned_steps),
    started_at: number(given.started_at),
    ended_at: number(given.ended_at),
    metrics: record(given.metrics, number),
  };
}

function incident(value: unknown): Incident {
  const given = fields(value);
  return {
    id: words(given.id),
    kind: words(given.kind),
    severity: severity(given.severity),
    message: words(given.message),
    step: number(given.step),
    wall_time: number(given.wall_time),
    text: text(given.text),
    threads: list(given.threads, thread),
  };
}

function thread(value: unknown): StackThread {
  const given = fields(value);
  return { trains: given.trains === true, frames: list(given.frames, frame) };
}

function frame(value: unknown): StackFrame {
  const given = fields(value);
  return {
    file: words(given.file),
    line: number(given.line) ?? 0,
    function: words(given.function),
    library: given.library === true,
  };
}

function phase(value: unknown): Phase {
  const given = fields(value);
  return {
    what: words(given.what),
    from_time: number(given.from_time) ?? 0,
    to_time: number(given.to_time) ?? 0,
    step: number(given.step),
  };
}

function laneSeries(value: unknown): LaneSeries {
  const given = fields(value);
  return { column: words(given.column), title: words(given.title) };
}

export function laneLimit(value: unknown): LaneLimit {
  const given = fields(value);
  return { value: number(given.value) ?? Number.NaN, label: words(given.label) };
}

function laneInfo(value: unknown): LaneInfo {
  const given = fields(value);
  return {
    id: words(given.id),
    title: words(given.title),
    unit: oneOf(UNITS, given.unit) ?? "number",
    series: list(given.series, laneSeries),
    limits: list(given.limits, laneLimit),
  };
}

export const WORKER_PARTS: readonly WorkerPart[] = [
  "root",
  "same",
  "consequence",
  "fine",
  "no record",
];

function worker(value: unknown): Worker {
  const given = fields(value);
  return {
    name: words(given.name),
    part: oneOf(WORKER_PARTS, given.part) ?? "fine",
    attempt: text(given.attempt),
    host: text(given.host),
    pid: number(given.pid),
    state: state(given.state),
    headline: words(given.headline),
    cause: text(given.cause),
    step: number(given.step),
    started_at: number(given.started_at),
    last_seen_at: number(given.last_seen_at),
    clock_ahead_seconds: number(given.clock_ahead_seconds),
  };
}

function workers(value: unknown): Workers {
  const given = fields(value);
  return {
    size: number(given.size) ?? 0,
    notes: list(given.notes, words),
    table: list(given.table, worker),
  };
}

export function decodeStory(value: unknown): Story {
  const given = fields(value);
  return {
    run: runRow(given.run),
    verdict: isFields(given.verdict) ? finding(given.verdict) : null,
    findings: list(given.findings, finding),
    not_measured: list(given.not_measured, notMeasured),
    silenced: list(given.silenced, silencedRule),
    tuned: list(given.tuned, tunedNumber),
    attempts: list(given.attempts, attempt),
    epochs: list(given.epochs, epoch),
    phases: list(given.phases, phase),
    incidents: list(given.incidents, incident),
    lanes: list(given.lanes, laneInfo),
    settings: record(given.settings, setting),
    workers: isFields(given.workers) ? workers(given.workers) : null,
  };
}

function seriesPoints(value: unknown): SeriesPoints {
  const given = fields(value);
  const mean = list(given.mean, number);
  // Where nothing was joined, a saved report has every number only once.
  const edge = (values: unknown) =>
    values === undefined ? mean : list(values, number);
  return {
    column: words(given.column),
    mean,
    min: edge(given.min),
    max: edge(given.max),
  };
}

export function decodeLane(value: unknown): LanePoints {
  const given = fields(value);
  return {
    lane: words(given.lane),
    samples: number(given.samples) ?? 0,
    bucketed: given.bucketed === true,
    time: list(given.time, (item) => number(item) ?? Number.NaN),
    step: list(given.step, number),
    series: list(given.series, seriesPoints),
  };
}

export function decodeError(value: unknown): { code: string; message: string } | null {
  const given = fields(value);
  if (!isFields(given.error)) return null;
  return { code: words(given.error.code), message: words(given.error.message) };
}
