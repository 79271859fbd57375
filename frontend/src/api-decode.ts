// Turns a JSON answer into its type, filling in whatever is missing.
//
// The server may be older or newer than this page, so nothing here throws: a missing
// list is empty, a missing value is null, a word we do not know becomes the mildest one.
import type {
  Attempt,
  Confidence,
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
  isTrue,
  list,
  listOf,
  maybe,
  number,
  numberOr,
  oneOf,
  oneOfOr,
  recordOf,
  shaped,
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
const CONFIDENCES: readonly Confidence[] = ["proven", "likely", "possible"];
const UNITS: readonly Unit[] = [
  "bytes",
  "fraction",
  "seconds",
  "count",
  "per_second",
  "celsius",
  "watts",
  "number",
];
const WORKER_PARTS: readonly WorkerPart[] = [
  "root",
  "same",
  "consequence",
  "fine",
  "no record",
];

export const unit = oneOfOr(UNITS, "number");
export const workerPart = oneOfOr(WORKER_PARTS, "fine");
const severity = oneOfOr(SEVERITIES, "info");

function state(value: unknown): Maybe<RunState> {
  if (value === null || value === undefined) return null;
  return oneOf(STATES, value) ?? "unknown";
}

function setting(value: unknown): string {
  return text(value) ?? JSON.stringify(value) ?? "";
}

const mark = shaped<Mark>({ step: numberOr(0), severity });

const anyRow = shaped<RunRow>({
  name: words,
  monitored: isTrue,
  judged: (value) => value !== false,
  state,
  chip: words,
  severity,
  headline: words,
  started_at: number,
  last_seen_at: number,
  ended_at: number,
  ran_for_seconds: number,
  step: number,
  planned_steps: number,
  epoch: number,
  planned_epochs: number,
  peak_memory_bytes: number,
  memory_limit_bytes: number,
  data_wait_fraction: number,
  gpu_busy_fraction: number,
  marks: listOf(mark),
  attempts: numberOr(0),
  tensorboard_runs: listOf(words),
});

export function runRow(value: unknown): RunRow {
  const row = anyRow(value);
  return row.monitored ? row : { ...row, severity: null };
}

export const decodeRunList = shaped<RunList>({
  logdirs: listOf(words),
  reading: shaped<Reading>({
    complete: (value) => value !== false,
    runs_found: numberOr(0),
    runs_read: numberOr(0),
    runs_judged: numberOr(0),
    problems: listOf(
      shaped<ReadingProblem>({ run: words, file: words, message: words }),
    ),
  }),
  runs: listOf(runRow),
});

const moment = maybe(
  shaped<EpochMoment>({ step: number, epoch: number, wall_time: number }),
);

function place(value: unknown): Maybe<Place> {
  if (!isFields(value)) return null;
  const known: Place = {};
  for (const [name, part] of Object.entries(value)) {
    if (typeof part === "string" || typeof part === "number") known[name] = part;
  }
  return known;
}

const finding = shaped<Finding>({
  id: words,
  detail: text,
  severity,
  confidence: oneOfOr(CONFIDENCES, "possible"),
  headline: words,
  because: words,
  cause_at: moment,
  stopped_at: moment,
  place,
  evidence: listOf(
    shaped<Evidence>({
      text: words,
      strength: oneOfOr(["strong", "supporting"], "supporting"),
      lane: text,
      step: number,
      wall_time: number,
    }),
  ),
  fixes: listOf(shaped<Fix>({ title: words, why: words, code: text })),
  docs: listOf(shaped<Doc>({ name: words, url: words })),
  caused_by: text,
});

const frame = shaped<StackFrame>({
  file: words,
  line: numberOr(0),
  function: words,
  library: isTrue,
});

const incident = shaped<Incident>({
  id: words,
  kind: words,
  severity,
  message: words,
  step: number,
  wall_time: number,
  text,
  threads: listOf(shaped<StackThread>({ trains: isTrue, frames: listOf(frame) })),
});

export const laneLimit = shaped<LaneLimit>({
  value: numberOr(Number.NaN),
  label: words,
});

const laneInfo = shaped<LaneInfo>({
  id: words,
  title: words,
  unit,
  series: listOf(shaped<LaneSeries>({ column: words, title: words })),
  limits: listOf(laneLimit),
});

const worker = shaped<Worker>({
  name: words,
  part: workerPart,
  attempt: text,
  host: text,
  pid: number,
  state,
  headline: words,
  cause: text,
  step: number,
  started_at: number,
  last_seen_at: number,
  clock_ahead_seconds: number,
});

export const decodeStory = shaped<Story>({
  run: runRow,
  verdict: maybe(finding),
  findings: listOf(finding),
  not_measured: listOf(shaped<NotMeasured>({ what: words, why: words, enable: text })),
  silenced: listOf(shaped<Silenced>({ rule: words, by: words })),
  tuned: listOf(
    shaped<Tuned>({
      name: words,
      value: numberOr(Number.NaN),
      default: numberOr(Number.NaN),
      by: words,
    }),
  ),
  attempts: listOf(
    shaped<Attempt>({
      id: words,
      host: text,
      pid: number,
      started_at: number,
      last_seen_at: number,
      state,
      first_step: number,
      last_step: number,
    }),
  ),
  epochs: listOf(
    shaped<Epoch>({
      epoch: numberOr(0),
      first_step: number,
      last_step: number,
      planned_steps: number,
      started_at: number,
      ended_at: number,
      metrics: recordOf(number),
    }),
  ),
  phases: listOf(
    shaped<Phase>({
      what: words,
      from_time: numberOr(0),
      to_time: numberOr(0),
      step: number,
    }),
  ),
  incidents: listOf(incident),
  lanes: listOf(laneInfo),
  settings: recordOf(setting),
  workers: maybe(
    shaped<Workers>({ size: numberOr(0), notes: listOf(words), table: listOf(worker) }),
  ),
});

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

export const decodeLane = shaped<LanePoints>({
  lane: words,
  samples: numberOr(0),
  bucketed: isTrue,
  time: listOf(numberOr(Number.NaN)),
  step: listOf(number),
  series: listOf(seriesPoints),
});

export function decodeError(value: unknown): { code: string; message: string } | null {
  const error = shaped<{ code: string; message: string }>({
    code: words,
    message: words,
  });
  return maybe(error)(fields(value).error);
}
