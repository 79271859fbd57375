import { expect, test } from "vitest";
import { shapeOf, shapeOfRun, toneOf } from "./run-tone";

test.each([
  [null, null, "none", "muted"],
  ["running", "info", "running", "run"],
  ["running", "warning", "warning", "warn"],
  ["stuck", "critical", "stuck", "fatal"],
  ["finished", "info", "healthy", "ok"],
  ["finished", "warning", "warning", "warn"],
  ["ended_early", "info", "ended", "muted"],
  ["ended_early", "critical", "failed", "fatal"],
  ["failed", "info", "failed", "fatal"],
  ["died", "critical", "failed", "fatal"],
  ["unknown", "info", "ended", "muted"],
] as const)("%s, %s looks %s in %s", (state, severity, shape, tone) => {
  expect(shapeOf(state, severity)).toBe(shape);
  expect(toneOf(shapeOf(state, severity))).toBe(tone);
});

test.each([
  ["finished", "info", "none"],
  ["ended_early", "info", "none"],
  ["failed", "critical", "failed"],
  ["running", "info", "running"],
] as const)("%s, %s that is not judged yet looks %s", (state, severity, shape) => {
  expect(shapeOfRun({ state, severity, judged: false })).toBe(shape);
});
