import { describe, expect, test } from "vitest";
import type { Incident } from "../api-types";
import { finding, row, story } from "../testing/rows";
import { marksOf, placeMarks, stopOf } from "./marks";
import { runClock } from "./run-clock";

const incident = (step: number, fields: Partial<Incident> = {}): Incident => ({
  id: `i${step}`,
  kind: "k",
  severity: "warning",
  message: `At ${step}`,
  step,
  wall_time: 1000 + step,
  text: null,
  threads: [],
  ...fields,
});

const failed = story({
  run: row({ state: "failed", severity: "critical" }),
  verdict: finding(),
  incidents: [incident(40), incident(100, { severity: "critical" })],
});

describe("marks", () => {
  test("the incident that is the stop gets no pin of its own", () => {
    expect(marksOf(failed).map((mark) => mark.label)).toEqual(["1", "Stopped"]);
  });

  test("a live run has no stop", () => {
    expect(
      stopOf(story({ run: row({ state: "running", ended_at: null }) })),
    ).toBeNull();
  });

  test("a run without a verdict stopped where it was last seen", () => {
    expect(stopOf(story())).toEqual({ step: 100, wall_time: 2000 });
    expect(marksOf(story())[0]?.label).toBe("Finished");
  });
});

describe("placed marks", () => {
  const place = (steps: number[], width = 800) =>
    placeMarks(
      marksOf(story({ incidents: steps.map((step) => incident(step)) })),
      "step",
      runClock(1000, null),
      [0, 109],
      width,
    );

  test("do not overlap and stay inside", () => {
    const placed = place([97, 98, 99]);

    placed.slice(1).forEach((item, index) => {
      const before = placed[index];
      expect(item.pin).toBeGreaterThanOrEqual(
        (before?.pin ?? 0) + (before?.width ?? 0),
      );
    });
    const last = placed.at(-1);
    expect((last?.pin ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(812);
  });

  test("outside the range are left out", () => {
    const marks = marksOf(story({ incidents: [incident(10), incident(60)] }));
    const placed = placeMarks(marks, "step", runClock(1000, null), [50, 70], 800);

    expect(placed.map((item) => item.x)).toEqual([60]);
  });

  test("are joined where there are too many", () => {
    const placed = place(Array.from({ length: 60 }, (_, index) => index));

    expect(placed).toHaveLength(12);
    expect(placed.reduce((sum, item) => sum + item.count, 0)).toBe(61);
    expect(placed.at(-1)?.mark.kind).toBe("stop");
  });
});
