import { describe, expect, test } from "vitest";
import { lane, points } from "../testing/rows";
import {
  isolated,
  lastMeasured,
  lastSeen,
  nearest,
  summaryOf,
  trackOf,
  valueAt,
} from "./track";

const track = (
  values: (number | null)[],
  fields: Parameters<typeof points>[1] = {},
  axis: "step" | "rel" | "wall" = "step",
) => trackOf(lane(), points(values, fields), axis, 1000);

describe("x", () => {
  test("follows the axis", () => {
    expect(track([1, 2, 3], {}, "step").x).toEqual([0, 1, 2]);
    expect(track([1, 2, 3], {}, "rel").x).toEqual([0, 10, 20]);
    expect(track([1, 2, 3], {}, "wall").x).toEqual([1000, 1010, 1020]);
  });

  test("joins samples of one step and keeps their spike", () => {
    const stuck = track([5, 90, 6], { step: [7, 7, 7] });

    expect(stuck.x).toEqual([7]);
    expect(stuck.series[0]).toMatchObject({ mean: [6], min: [5], max: [90] });
  });

  test("lets steps that ran again replace the first time", () => {
    const restarted = track([1, 2, 3, 20, 30], { step: [0, 10, 20, 5, 15] });

    expect(restarted.x).toEqual([0, 5, 15]);
    expect(restarted.series[0]?.mean).toEqual([1, 20, 30]);
  });

  test("leaves out samples before the first step", () => {
    expect(track([1, 2], { step: [null, 0] }).x).toEqual([0]);
  });
});

describe("gaps", () => {
  test("are measured in time", () => {
    const gap = track([1, null, null, 4], {}, "rel");

    expect(gap.gaps).toEqual([{ from: 0, to: 30, seconds: 30 }]);
    expect(gap.series[0]?.mean).toEqual([1, null, null, 4]);
  });

  test("at a step lie between it and the next", () => {
    const paused = track([1, null, 4], { step: [939, 939, 1234] });

    expect(paused.x).toEqual([939, 1086.5, 1234]);
    expect(paused.series[0]?.mean).toEqual([1, null, 4]);
    expect(paused.gaps).toEqual([{ from: 939, to: 1234, seconds: 20 }]);
  });

  test("within one step leave no trace on the axis of steps", () => {
    expect(track([1, null, 4], { step: [7, 7, 7] }).x).toEqual([7]);
  });

  test("at the edges are none", () => {
    expect(track([null, 1, null]).gaps).toEqual([]);
  });
});

describe("numbers that are none", () => {
  const nan = track([1, Number.NaN, 2, Number.NaN]);

  test("are not drawn, but said", () => {
    expect(nan.series[0]?.mean).toEqual([1, null, 2, null]);
    expect(valueAt(nan, 0, null)).toBeNaN();
    expect(nan.notFinite).toEqual({ from: 1, to: 3, word: "NaN" });
  });

  test("can be infinite", () => {
    expect(track([1, Number.POSITIVE_INFINITY]).notFinite?.word).toBe("Inf");
  });
});

test("a series the answer lacks is empty", () => {
  const two = lane({ series: [...lane().series, { column: "other", title: "o" }] });

  const found = trackOf(two, points([1, 2]), "step", 1000);

  expect(found.series[1]?.mean).toEqual([null, null]);
});

test("the nearest sample is found", () => {
  expect(nearest([0, 10, 20], 14)).toBe(1);
  expect(nearest([0, 10, 20], 16)).toBe(2);
  expect(nearest([0, 10, 20], 99)).toBe(2);
  expect(nearest([], 1)).toBe(-1);
});

test("samples between gaps get a dot", () => {
  expect(isolated([1, null, 2, null, 3, 4])).toEqual([0, 2]);
  expect(isolated([5])).toEqual([0]);
  // Where only the other run has a sample, a line goes on.
  expect(isolated([1, undefined, 2, undefined, null, 3, undefined])).toEqual([5]);
});

test("the summary knows the extremes and the end", () => {
  expect(summaryOf(track([3, null, 1, 2]))).toEqual({ lowest: 1, highest: 3, last: 2 });
  expect(summaryOf(track([]))).toEqual({ lowest: null, highest: null, last: null });
});

test("what was measured last is found, in sight and in time", () => {
  const values = [1, 2, null, 4, null];

  expect(lastSeen(track(values), 0, 2)).toBe(1);
  expect(lastSeen(track(values), 0, 9)).toBe(3);
  expect(lastSeen(track([null]), 0, 9)).toBe(-1);
  expect(lastMeasured(points(values))).toBe(1030);
  expect(lastMeasured(points([null]))).toBeNull();
});
