import { describe, expect, test } from "vitest";
import { atEnd, isAtEnd } from "./use-follow";

describe("a live run while zoomed", () => {
  test("is at the end if it shows the last of what is known", () => {
    expect(isAtEnd([80, 100], [0, 100])).toBe(true);
    expect(isAtEnd([80, 99.7], [0, 100])).toBe(true);
    expect(isAtEnd([20, 40], [0, 100])).toBe(false);
  });

  test("keeps how much is in sight when it moves to the end", () => {
    expect(atEnd([20, 40], [0, 130], 130)).toEqual([110, 130]);
  });

  test("keeps the mark of the stop in sight, with little after it", () => {
    const [from, to] = atEnd([630, 650], [0, 716], 657);

    expect(from).toBeLessThan(657);
    expect(to).toBeCloseTo(658.8);
  });

  test("never shows more than there is", () => {
    expect(atEnd([-50, 500], [0, 100], 100)).toEqual([0, 100]);
  });
});
