import { describe, expect, test } from "vitest";
import { points } from "../testing/rows";
import { movePlace, placeOf, runClock } from "./run-clock";

const clock = runClock(1000, points([0, 0, 0], { step: [0, 100, 200] }));

describe("the place of a moment", () => {
  test("is what was recorded", () => {
    const moment = { step: 70, wall_time: 1015 };

    expect(placeOf(moment, "step", clock)).toBe(70);
    expect(placeOf(moment, "rel", clock)).toBe(15);
    expect(placeOf(moment, "wall", clock)).toBe(1015);
  });

  test("is worked out where only one of the two is known", () => {
    expect(placeOf({ step: null, wall_time: 1005 }, "step", clock)).toBe(50);
    expect(placeOf({ step: 150, wall_time: null }, "rel", clock)).toBe(15);
  });

  test("is unknown where nothing is", () => {
    const empty = runClock(null, null);

    expect(placeOf({ step: null, wall_time: null }, "step", clock)).toBeNull();
    expect(placeOf({ step: null, wall_time: 1005 }, "step", empty)).toBeNull();
    expect(placeOf({ step: null, wall_time: 1005 }, "rel", empty)).toBeNull();
  });

  test("of a step that ran twice is the last time", () => {
    const again = runClock(1000, points([0, 0, 0, 0], { step: [0, 100, 50, 150] }));

    expect(placeOf({ step: 100, wall_time: null }, "wall", again)).toBe(1025);
  });
});

test.each([
  ["step", "rel"],
  ["step", "wall"],
  ["rel", "wall"],
] as const)("a place moves from %s to %s and back", (from, to) => {
  const moved = movePlace(15, from, to, clock);

  expect(movePlace(moved ?? 0, to, from, clock)).toBeCloseTo(15);
});
