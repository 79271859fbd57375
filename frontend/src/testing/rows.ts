// Runs and stories for tests: a dull one, with the fields that matter overridden.
import type { Finding, LaneInfo, LanePoints, RunRow, Story } from "../api-types";

export function row(fields: Partial<RunRow> = {}): RunRow {
  return {
    name: "run",
    monitored: true,
    judged: true,
    state: "finished",
    chip: "Healthy",
    severity: "info",
    headline: "Finished as planned",
    started_at: 1000,
    last_seen_at: 2000,
    ended_at: 2000,
    ran_for_seconds: 1000,
    step: 100,
    planned_steps: 100,
    epoch: 1,
    planned_epochs: 1,
    peak_memory_bytes: null,
    memory_limit_bytes: null,
    data_wait_fraction: null,
    gpu_busy_fraction: null,
    marks: [],
    attempts: 1,
    tensorboard_runs: [],
    ...fields,
  };
}

export const unmonitored: Partial<RunRow> = {
  monitored: false,
  state: null,
  severity: null,
  chip: "Not monitored",
  headline: "No health data was recorded for this run",
  started_at: null,
  step: null,
};

export function finding(fields: Partial<Finding> = {}): Finding {
  return {
    id: "code_error",
    detail: null,
    severity: "critical",
    confidence: "proven",
    headline: "Stopped by ValueError at step 100",
    because: "The exception was seen.",
    cause_at: null,
    stopped_at: { step: 100, epoch: 1, wall_time: 2000 },
    place: null,
    evidence: [],
    fixes: [],
    docs: [],
    caused_by: null,
    ...fields,
  };
}

export function lane(fields: Partial<LaneInfo> = {}): LaneInfo {
  return {
    id: "loss",
    title: "Loss",
    unit: "number",
    series: [{ column: "loss", title: "loss" }],
    limits: [],
    ...fields,
  };
}

export function points(
  values: (number | null)[],
  fields: Partial<LanePoints> = {},
): LanePoints {
  return {
    lane: "loss",
    samples: values.length,
    bucketed: false,
    time: values.map((_, index) => 1000 + 10 * index),
    step: values.map((_, index) => index),
    series: [{ column: "loss", mean: values, min: values, max: values }],
    ...fields,
  };
}

export function story(fields: Partial<Story> = {}): Story {
  return {
    run: row(),
    verdict: null,
    findings: [],
    not_measured: [],
    silenced: [],
    tuned: [],
    attempts: [],
    epochs: [],
    phases: [],
    incidents: [],
    lanes: [],
    settings: {},
    workers: null,
    ...fields,
  };
}
