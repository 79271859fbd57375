import { expect, test } from "vitest";
import { axisPlace, axisTick, tickText } from "./tick-text";

test.each([
  ["bytes", 16 * 1024 ** 3, "16 GiB"],
  ["bytes", 1.5 * 1024 ** 3, "1.5 GiB"],
  ["bytes", 0, "0"],
  ["fraction", 0, "0%"],
  ["number", 10000, "10,000"],
] as const)("a tick of %s at %d is %s", (unit, value, text) => {
  expect(tickText(unit, value)).toBe(text);
});

test("the clock shows seconds only where they matter", () => {
  const noon = new Date(2026, 10, 18, 12, 0, 5).getTime() / 1000;

  expect(axisTick("wall", noon, [noon, noon + 60])).toBe("12:00:05");
  expect(axisTick("wall", noon, [noon, noon + 6000])).toBe("12:00");
});

test("the cursor says where it stands", () => {
  expect(axisPlace("step", 1234.4)).toBe("step 1,234");
  expect(axisPlace("rel", 65)).toBe("1:05");
});
