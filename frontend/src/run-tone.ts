// Which look a run has: shape and colour follow how bad it is, then what it is doing.
import type { Maybe, RunRow, RunState, Severity } from "./api-types";

/** One per shape; the colour families are fatal, warn, ok, run and muted. */
export type Shape =
  | "failed"
  | "stuck"
  | "warning"
  | "healthy"
  | "running"
  | "ended"
  | "none";

export type Health = Pick<RunRow, "state" | "severity" | "judged">;

export type Tone = "fatal" | "warn" | "ok" | "run" | "muted";

const TONES: Record<Shape, Tone> = {
  failed: "fatal",
  stuck: "fatal",
  warning: "warn",
  healthy: "ok",
  running: "run",
  ended: "muted",
  none: "muted",
};

export function toneOf(shape: Shape): Tone {
  return TONES[shape];
}

export function shapeOf(state: Maybe<RunState>, severity: Maybe<Severity>): Shape {
  if (state === null) return "none";
  if (state === "stuck") return "stuck";
  if (state === "failed" || state === "died" || severity === "critical")
    return "failed";
  if (severity === "warning") return "warning";
  if (state === "running") return "running";
  return state === "finished" ? "healthy" : "ended";
}

/** A run that no rule was asked about yet must not look as if it were well. */
export function shapeOfRun({ state, severity, judged }: Health): Shape {
  const shape = shapeOf(state, severity);
  return !judged && (shape === "healthy" || shape === "ended") ? "none" : shape;
}

export function shapeOfSeverity(severity: Severity): Shape {
  if (severity === "critical") return "failed";
  return severity === "warning" ? "warning" : "ended";
}

export function isLive(state: Maybe<RunState>): boolean {
  return state === "running" || state === "stuck";
}
