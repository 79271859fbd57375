import { describe, expect, test } from "vitest";
import type { AlignedClock, ComparedLane } from "../api-types";
import { points } from "../testing/rows";
import {
  alignedPlace,
  alignedRange,
  alignedTick,
  alignedTrack,
  interpolate,
  joinTracks,
  laneOf,
  laneRange,
} from "./align";

const clock: AlignedClock = {
  started_at: 1000,
  ended_at: 1100,
  last_step: 30,
  epoch_steps: [0, 10, 30],
  epochs: [0, 1, 2],
};
const compared: ComparedLane = {
  id: "loss",
  title: "Loss",
  unit: "number",
  lane: "loss",
  column: "loss",
  in_a: true,
  in_b: true,
  limits: [],
};
const lane = laneOf(compared);
const track = (values: (number | null)[], step: number[]) =>
  alignedTrack(lane, points(values, { step }), "step", clock);

describe("a run on the axis of a comparison", () => {
  const given = points([1, 2, 3], { step: [5, 10, 20], time: [1005, 1010, 1020] });
  const xs = (align: Parameters<typeof alignedTrack>[2]) =>
    alignedTrack(lane, given, align, clock).x;

  test("by step, time, epoch or from the end", () => {
    expect(xs("step")).toEqual([5, 10, 20]);
    expect(xs("time")).toEqual([5, 10, 20]);
    expect(xs("epoch")).toEqual([0.5, 1, 1.5]);
    expect(xs("end")).toEqual([-95, -90, -80]);
  });

  test("a number that is none keeps its place in epochs", () => {
    const bad = points([1, Number.NaN, Number.NaN], { step: [5, 10, 20] });
    expect(alignedTrack(lane, bad, "epoch", clock).notFinite).toMatchObject({
      from: 1,
      to: 1.5,
    });
  });
});

describe("two tracks in one chart", () => {
  test("share their places; the other run's places are no gaps", () => {
    const both = joinTracks(track([1, null, 3], [0, 2, 4]), track([5, 6], [2, 3]));

    expect(both.x).toEqual([0, 2, 3, 4]);
    expect(both.series[0]?.mean).toEqual([1, null, undefined, 3]);
    expect(both.series[1]?.mean).toEqual([undefined, 5, 6, undefined]);
  });

  test("one run may have nothing", () => {
    const none = { x: [], series: [], gaps: [], notFinite: null };
    const both = joinTracks(track([1], [7]), none);

    expect(both.x).toEqual([7]);
    expect(both.series[1]?.mean).toEqual([undefined]);
  });
});

test("the axis shows all of A and a little more", () => {
  expect(alignedRange("step", clock)[1]).toBeGreaterThan(30);
  expect(alignedRange("epoch", clock)[1]).toBeGreaterThan(2);
  expect(alignedRange("time", clock)[0]).toBe(0);
  expect(alignedRange("end", clock)[0]).toBe(-100);
  const unborn = { ...clock, last_step: 0 };
  expect(alignedRange("step", unborn)[1]).toBeGreaterThan(0);
});

test("a zoom is asked of each run in its own steps or times", () => {
  expect(laneRange([2, 4], "step", clock)).toEqual({ axis: "step", from: 2, to: 4 });
  expect(laneRange([2, 4], "time", clock)).toMatchObject({ axis: "time", from: 1002 });
  expect(laneRange([-4, 0], "end", clock)).toMatchObject({ from: 1096, to: 1100 });
  expect(laneRange([0.5, 1.5], "epoch", clock)).toMatchObject({ from: 5, to: 20 });
});

test("lines go on beyond their knots", () => {
  expect(interpolate([0, 10], [0, 1], 20)).toBe(2);
  expect(interpolate([0, 10], [0, 1], -10)).toBe(-1);
  expect(interpolate([0], [0], 5)).toBe(0);
  expect(interpolate([], [], 5)).toBe(0);
});

test("places are said as people say them", () => {
  expect(alignedPlace("step", 1234)).toBe("step 1,234");
  expect(alignedPlace("epoch", 1.25)).toBe("epoch 1.25");
  expect(alignedPlace("time", 65)).toBe("1:05");
  expect(alignedPlace("end", -65)).toBe("1:05 before the end");
  expect(alignedTick("end", -65)).toBe("−1:05");
});
