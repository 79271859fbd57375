// The answers of the plugin's routes, as `server/http_api.md` specifies them.
//
// A test decodes every example of that document into these types and compares, so a
// change here is a change there.

/** Null stands for "not recorded". */
export type Maybe<T> = T | null;

export type RunState =
  | "running"
  | "stuck"
  | "finished"
  | "ended_early"
  | "failed"
  | "died"
  | "unknown";

export type Severity = "info" | "warning" | "critical";

export type Confidence = "proven" | "likely" | "possible";

export type Unit =
  | "bytes"
  | "fraction"
  | "seconds"
  | "count"
  | "per_second"
  | "celsius"
  | "watts"
  | "number";

export interface Mark {
  step: number;
  severity: Severity;
}

export interface RunRow {
  name: string;
  monitored: boolean;
  /** False while no rule was asked yet: it is then only known how the run ended. */
  judged: boolean;
  state: Maybe<RunState>;
  chip: string;
  severity: Maybe<Severity>;
  headline: string;
  started_at: Maybe<number>;
  last_seen_at: Maybe<number>;
  ended_at: Maybe<number>;
  ran_for_seconds: Maybe<number>;
  step: Maybe<number>;
  planned_steps: Maybe<number>;
  epoch: Maybe<number>;
  planned_epochs: Maybe<number>;
  peak_memory_bytes: Maybe<number>;
  memory_limit_bytes: Maybe<number>;
  data_wait_fraction: Maybe<number>;
  gpu_busy_fraction: Maybe<number>;
  marks: Mark[];
  attempts: number;
  tensorboard_runs: string[];
}

export interface ReadingProblem {
  run: string;
  file: string;
  message: string;
}

export interface Reading {
  complete: boolean;
  runs_found: number;
  runs_read: number;
  runs_judged: number;
  problems: ReadingProblem[];
}

export interface RunList {
  logdirs: string[];
  reading: Reading;
  runs: RunRow[];
}

/** A point of a run. Step or time may be missing, the place in the run is then partly known. */
export interface Moment {
  step: Maybe<number>;
  wall_time: Maybe<number>;
}

export interface EpochMoment extends Moment {
  epoch: Maybe<number>;
}

export interface Evidence extends Moment {
  text: string;
  strength: "strong" | "supporting";
  lane: Maybe<string>;
}

export interface Fix {
  title: string;
  why: string;
  code: Maybe<string>;
}

/** An official page. */
export interface Doc {
  name: string;
  url: string;
}

/** Where it is: a line of code, a layer, a callback. Holds only what is known. */
export type Place = Record<string, string | number>;

export interface Finding {
  id: string;
  detail: Maybe<string>;
  severity: Severity;
  confidence: Confidence;
  headline: string;
  because: string;
  cause_at: Maybe<EpochMoment>;
  stopped_at: Maybe<EpochMoment>;
  place: Maybe<Place>;
  evidence: Evidence[];
  fixes: Fix[];
  docs: Doc[];
  /** Id of the finding this one comes from. */
  caused_by: Maybe<string>;
}

export interface NotMeasured {
  what: string;
  why: string;
  enable: Maybe<string>;
}

/** A rule that was not asked, and whose wish that was: the run's or the reader's. */
export interface Silenced {
  rule: string;
  by: string;
}

/** A number of a rule that somebody set. */
export interface Tuned {
  name: string;
  value: number;
  default: number;
  by: string;
}

export interface Attempt {
  id: string;
  host: Maybe<string>;
  pid: Maybe<number>;
  started_at: Maybe<number>;
  last_seen_at: Maybe<number>;
  state: Maybe<RunState>;
  first_step: Maybe<number>;
  last_step: Maybe<number>;
}

export interface Epoch {
  epoch: number;
  first_step: Maybe<number>;
  last_step: Maybe<number>;
  planned_steps: Maybe<number>;
  started_at: Maybe<number>;
  ended_at: Maybe<number>;
  metrics: Record<string, Maybe<number>>;
}

/** A stretch in which no training steps were made. */
export interface Phase {
  what: string;
  from_time: number;
  to_time: number;
  step: Maybe<number>;
}

export interface StackFrame {
  file: string;
  line: number;
  function: string;
  library: boolean;
}

/** The calls of one thread, outermost first. */
export interface StackThread {
  trains: boolean;
  frames: StackFrame[];
}

export interface Incident extends Moment {
  id: string;
  kind: string;
  severity: Severity;
  message: string;
  text: Maybe<string>;
  threads: StackThread[];
}

export interface LaneSeries {
  column: string;
  title: string;
}

export interface LaneLimit {
  value: number;
  label: string;
}

export interface LaneInfo {
  id: string;
  title: string;
  unit: Unit;
  series: LaneSeries[];
  limits: LaneLimit[];
}

/** What a worker has to do with the cause. */
export type WorkerPart = "root" | "same" | "consequence" | "fine" | "no record";

export interface Worker {
  name: string;
  part: WorkerPart;
  attempt: Maybe<string>;
  host: Maybe<string>;
  pid: Maybe<number>;
  state: Maybe<RunState>;
  headline: string;
  cause: Maybe<string>;
  step: Maybe<number>;
  started_at: Maybe<number>;
  last_seen_at: Maybe<number>;
  clock_ahead_seconds: Maybe<number>;
}

/** What the map of workers shows. */
export type WorkerQuantity = "step_seconds" | "data_wait" | "memory";

/** One worker, or several neighbours that share a row. */
export interface WorkerRow {
  name: string;
  part: WorkerPart;
  values: Maybe<number>[];
}

export interface WorkerCells {
  unit: Unit;
  rows: WorkerRow[];
}

export interface Workers {
  size: number;
  notes: string[];
  table: Worker[];
}

export interface Story {
  run: RunRow;
  verdict: Maybe<Finding>;
  findings: Finding[];
  not_measured: NotMeasured[];
  silenced: Silenced[];
  tuned: Tuned[];
  attempts: Attempt[];
  epochs: Epoch[];
  phases: Phase[];
  incidents: Incident[];
  lanes: LaneInfo[];
  settings: Record<string, string>;
  workers: Maybe<Workers>;
}

export interface SeriesPoints {
  column: string;
  mean: Maybe<number>[];
  min: Maybe<number>[];
  max: Maybe<number>[];
}

export interface LanePoints {
  lane: string;
  samples: number;
  bucketed: boolean;
  time: number[];
  step: Maybe<number>[];
  series: SeriesPoints[];
}

/** A place on the axis of a comparison, with step and time of A. */
export interface ComparedPlace {
  x: number;
  step: Maybe<number>;
  wall_time: Maybe<number>;
}

export type DifferenceKind =
  | "grows"
  | "falls"
  | "level"
  | "not_finite"
  | "alike"
  | "missing";

export interface ComparedSignal {
  id: string;
  title: string;
  unit: Unit;
  lane: string;
  column: string;
  kind: DifferenceKind;
  what: string;
  a: string;
  b: string;
  from: string;
  a_value: Maybe<number>;
  b_value: Maybe<number>;
  strength: number;
  from_start: boolean;
  begins: Maybe<ComparedPlace>;
  ends: Maybe<ComparedPlace>;
}

export interface ComparedSetting {
  name: string;
  a: Maybe<string>;
  b: Maybe<string>;
}

export interface ComparedLane {
  id: string;
  title: string;
  unit: Unit;
  lane: string;
  column: string;
  in_a: boolean;
  in_b: boolean;
  limits: LaneLimit[];
}

/** How steps, times and epochs of a run belong together. */
export interface AlignedClock {
  started_at: number;
  ended_at: number;
  last_step: number;
  epoch_steps: number[];
  epochs: number[];
}

export interface Comparison {
  a: RunRow;
  b: Maybe<RunRow>;
  picked: Maybe<string>;
  align: "step" | "time" | "epoch" | "end";
  headline: string;
  summary: string;
  note: Maybe<string>;
  rule: string;
  first: Maybe<string>;
  signals: ComparedSignal[];
  settings: ComparedSetting[];
  same_settings: ComparedSetting[];
  try_first: Maybe<{ setting: string; why: string }>;
  lanes: ComparedLane[];
  clocks: Maybe<{ a: AlignedClock; b: AlignedClock }>;
}

export interface Layer {
  name: string;
  kind: string;
  activation: string;
  units: Maybe<number>;
  parameters: Maybe<number>;
  trainable: Maybe<boolean>;
  /** One for each look; null where no gradient reached the layer. */
  gradient_norms: Maybe<number>[];
  weight_norm: Maybe<number>;
  update_norm: Maybe<number>;
  zero_fraction: Maybe<number>;
  dead_fraction: Maybe<number>;
  saturated_fraction: Maybe<number>;
}

export interface BatchField {
  name: string;
  role: string;
  dtype: string;
  shape: number[];
  minimum: Maybe<number>;
  maximum: Maybe<number>;
  mean: Maybe<number>;
  std: Maybe<number>;
  zero_fraction: Maybe<number>;
  nonfinite_count: Maybe<number>;
  distinct: Maybe<number>;
}

export interface TimePart {
  what: string;
  seconds: number;
}

export interface TrainingInside {
  looks: { step: number[]; time: number[] };
  layers: Layer[];
  data: {
    kind: Maybe<string>;
    stages: string[];
    settings: Record<string, string>;
    batches_seen: number;
    fields: BatchField[];
  };
  time: TimePart[];
}

export interface RawEvent {
  kind: string;
  step: number;
  wall_time: number;
  text: string;
}

export interface RawEvents {
  total: number;
  events: RawEvent[];
}
