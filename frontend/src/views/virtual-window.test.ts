import { describe, expect, test } from "vitest";
import { virtualWindow } from "./virtual-window";

describe("the rows in the page", () => {
  test("at the top", () => {
    expect(virtualWindow(1000, 44, -300, 900)).toEqual({
      first: 0,
      end: 26,
      pixelsBefore: 0,
      pixelsAfter: 974 * 44,
    });
  });

  test("in the middle, with spare rows on both sides", () => {
    const { first, end } = virtualWindow(1000, 44, 4400, 880);

    expect(first).toBe(88);
    expect(end).toBe(132);
  });

  test("at the end", () => {
    const shown = virtualWindow(1000, 44, 1_000_000, 880);

    expect(shown.end).toBe(1000);
    expect(shown.pixelsAfter).toBe(0);
  });

  test.each([-500, 0, 777, 20_000, 43_000])(
    "together with the space around them are as high as all, at %d",
    (scrolled) => {
      const { first, end, pixelsBefore, pixelsAfter } = virtualWindow(
        1000,
        44,
        scrolled,
        900,
      );

      expect(pixelsBefore + (end - first) * 44 + pixelsAfter).toBe(44_000);
    },
  );

  test("of no rows are none", () => {
    expect(virtualWindow(0, 44, 0, 900)).toMatchObject({ first: 0, end: 0 });
  });
});
