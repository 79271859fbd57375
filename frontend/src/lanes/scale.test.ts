import { describe, expect, test } from "vitest";
import * as scale from "./scale";

const GIB = 1024 ** 3;

describe("ranges", () => {
  test("leave room after the end of a run, but not of a live one", () => {
    expect(scale.fullRange(0, 100, false)[1]).toBeCloseTo(109);
    expect(scale.fullRange(0, 100, true)).toEqual([0, 100]);
  });

  test("of a run without length are still ranges", () => {
    expect(scale.fullRange(5, 5, true)).toEqual([5, 6]);
  });

  test("around a place stay inside the whole", () => {
    expect(scale.around(50, 0.32, [0, 100])).toEqual([34, 66]);
    expect(scale.around(99, 0.32, [0, 100])).toEqual([68, 100]);
    expect(scale.around(-20, 0.32, [0, 100])).toEqual([0, 32]);
  });

  test("zoom around the cursor, and out to everything", () => {
    expect(scale.zoomed([0, 100], 0.5, 80, [0, 100])).toEqual([40, 90]);
    expect(scale.zoomed([40, 90], 2, 80, [0, 100])).toBeNull();
  });

  test("pixels follow the range", () => {
    expect(scale.toPixels(15, [10, 20], 800)).toBe(400);
  });
});

describe("ticks", () => {
  test("are round", () => {
    expect(scale.ticks([0, 1340], 7)).toEqual([0, 200, 400, 600, 800, 1000, 1200]);
    expect(scale.ticks([0.1, 0.52], 4)).toEqual([0.2, 0.4]);
  });

  test("of steps are whole", () => {
    expect(scale.wholeTicks([0, 3], 10)).toEqual([0, 1, 2, 3]);
  });

  test("are at least two", () => {
    expect(scale.ticks([0, 432], 2).length).toBeGreaterThan(1);
  });

  test("of times are what people use", () => {
    expect(scale.timeTicks([0, 2600], 6)).toEqual([0, 600, 1200, 1800, 2400]);
  });

  test("of the clock fall on whole local hours", () => {
    const fiveAndAHalf = -5.5 * 3600;

    const [first] = scale.timeTicks([100_000, 140_000], 4, fiveAndAHalf);

    expect(((first ?? 0) - fiveAndAHalf) % 3600).toBe(0);
  });

  test("of memory are powers of two", () => {
    expect(scale.byteTicks([0, 17.3 * GIB], 3)).toEqual([0, 8 * GIB, 16 * GIB]);
  });

  test("of a logarithmic scale are powers of ten, thinned out", () => {
    const splits = [0.1, 0.2, 1, 5, 10, 100, 1000];

    expect(scale.powerTicks(splits, 3)).toEqual([null, null, 1, null, null, 100, null]);
  });

  test("of an empty range are none", () => {
    expect(scale.ticks([1, 1], 5)).toEqual([]);
    expect(scale.byteTicks([0, 0], 5)).toEqual([]);
  });
});

describe("the y range", () => {
  const limit = { value: 16 * GIB, label: "limit" };

  test("holds a limit that is near", () => {
    const [low, high] = scale.yRange("bytes", GIB, 15 * GIB, [limit], false);

    expect(low).toBe(0);
    expect(high).toBeGreaterThan(limit.value);
  });

  test("leaves out a limit far above", () => {
    expect(scale.yRange("bytes", 0, GIB, [limit], false)[1]).toBeLessThan(2 * GIB);
    expect(scale.limitsInSight([limit], GIB)).toEqual([]);
  });

  test("of a fraction is always the whole", () => {
    expect(scale.yRange("fraction", 0.2, 0.3, [], false)).toEqual([0, 1]);
  });

  test("of numbers that are never negative does not start below zero", () => {
    expect(scale.yRange("number", 0.01, 2, [], false)[0]).toBe(0);
    expect(scale.yRange("number", -1, 2, [], false)[0]).toBeLessThan(-1);
  });

  test("of equal numbers has height", () => {
    const [low, high] = scale.yRange("number", 2, 2, [], false);

    expect(high).toBeGreaterThan(low);
  });

  test("without data is a range", () => {
    expect(scale.yRange("number", null, null, [], false)).toEqual([0, 1]);
    // Ticks of whole bytes, not of halves of one.
    expect(scale.yRange("bytes", 0, 0, [], false)[1]).toBeGreaterThan(1024);
  });

  test("is logarithmic over more than three powers of ten only", () => {
    expect(scale.needsLog("number", 0.1, 500)).toBe(true);
    expect(scale.needsLog("number", 0.1, 50)).toBe(false);
    expect(scale.needsLog("number", 0, 500)).toBe(false);
    expect(scale.needsLog("bytes", 1, 5000)).toBe(false);
  });
});
