import { describe, expect, test } from "vitest";
import type { Incident } from "../api-types";
import { points, row, story } from "../testing/rows";
import { rangesOf } from "./use-ranges";

const samples = points([1, 2, 3], { step: [0, 50, 100] });

describe("the range in sight", () => {
  test("is everything, with room after the stop", () => {
    const { range } = rangesOf(story(), samples, "step", null);

    expect(range[0]).toBe(0);
    expect(range[1]).toBeCloseTo(109);
  });

  test("is the zoom where it touches the run", () => {
    expect(rangesOf(story(), samples, "step", [20, 40]).range).toEqual([20, 40]);
  });

  test("is everything where a link zooms beside the run", () => {
    const { range, full } = rangesOf(story(), samples, "step", [5000, 6000]);

    expect(range).toEqual(full);
  });

  test("of a live run ends now", () => {
    const live = story({ run: row({ state: "running", ended_at: null }) });

    expect(rangesOf(live, samples, "rel", null).range).toEqual([0, 1000]);
  });
});

test("a run that never reached a step is shown over time", () => {
  const early = story({ run: row({ step: null }) });

  expect(rangesOf(early, samples, "step", null).axis).toBe("rel");
});

test("a run that stood still at its last step is shown in time", () => {
  const stalled = { kind: "stalled", step: 100, wall_time: 1900 };
  const rest = { id: "1", severity: "warning", message: "", text: null, threads: [] };
  const stood = (step: number) =>
    story({ run: row({ step }), incidents: [{ ...rest, ...stalled } as Incident] });

  expect(rangesOf(stood(100), samples, null, null).axis).toBe("rel");
  expect(rangesOf(stood(140), samples, null, null).axis).toBe("step");
  expect(rangesOf(stood(100), samples, "step", null).axis).toBe("step");
});
