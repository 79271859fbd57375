import { describe, expect, test } from "vitest";
import { contrast, differenceSeen, SIGHTS } from "../testing/color-difference";
import css from "./palette.css?raw";

const SEVERITIES = ["fatal", "warn", "ok", "run", "muted"];

/** Below this two severities look alike. The palette's worst pair has 11.8. */
const LEAST_DIFFERENCE = 11;

function paletteOf(selector: string): (name: string) => string {
  const block = css.split(`${selector} {`)[1]?.split("}")[0] ?? "";
  const colors = new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((found) => [
      found[1],
      found[2],
    ]),
  );
  return (name) => {
    const color = colors.get(name);
    if (!color) throw new Error(`${selector} has no colour ${name}`);
    return color;
  };
}

describe.each([
  ["light", ":root"],
  ["dark", ':root[data-theme="dark"]'],
])("the %s palette", (_, selector) => {
  const color = paletteOf(selector);

  test.each(SEVERITIES)(
    "%s can be read on its tint, on cards and on the page",
    (name) => {
      for (const ground of [`${name}-tint`, "card", "page"]) {
        expect(contrast(color(name), color(ground))).toBeGreaterThanOrEqual(4.5);
      }
    },
  );

  test.each(["text", "text-2", "text-3", "link"])("%s can be read", (name) => {
    for (const ground of ["card", "page", "plot"]) {
      expect(contrast(color(name), color(ground))).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("numbers in pins can be read", () => {
    for (const name of SEVERITIES) {
      expect(contrast(color("on-solid"), color(name))).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("the letters and the numbers of compared runs can be read", () => {
    for (const name of ["a", "b"]) {
      expect(contrast(color("on-solid"), color(name))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(color(name), color("card"))).toBeGreaterThanOrEqual(4.5);
    }
  });

  test.each(Object.entries(SIGHTS))("A and B differ for %s sight", (_, sight) => {
    expect(differenceSeen(color("a"), color("b"), sight)).toBeGreaterThan(40);
  });

  test("the frame of the search box can be seen", () => {
    expect(contrast(color("control"), color("card"))).toBeGreaterThanOrEqual(3);
  });

  test.each(Object.entries(SIGHTS))("severities differ for %s sight", (_, sight) => {
    // The grey ones are told apart by their shape; their icon colour counts here.
    const names = ["fatal", "warn", "ok", "run", "muted-icon"];
    for (const [index, a] of names.entries()) {
      for (const b of names.slice(index + 1)) {
        const difference = differenceSeen(color(a), color(b), sight);
        expect(difference, `${a} and ${b}`).toBeGreaterThan(LEAST_DIFFERENCE);
      }
    }
  });
});
