import { describe, expect, test } from "vitest";
import * as format from "./format";

describe("numbers", () => {
  test.each([
    [1234, "1,234"],
    [0, "0"],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
  ])("integer %d is %s", (value, text) => {
    expect(format.integer(value)).toBe(text);
  });

  test.each([
    [0.41, "0.41"],
    [0.6874, "0.687"],
    [15267.4, "15,267"],
    [0.00002, "2.0e-5"],
    [12_000_000, "1.2e7"],
    [0, "0"],
    [Number.POSITIVE_INFINITY, "Inf"],
  ])("decimal %d is %s", (value, text) => {
    expect(format.decimal(value)).toBe(text);
  });

  test("a fraction is written as a percentage", () => {
    expect(format.percent(0.142)).toBe("14%");
  });
});

describe("sizes", () => {
  test.each([
    [17072495001, "15.9 GiB"],
    [17179869184, "16.0 GiB"],
    [512 * 1024 ** 2, "512 MiB"],
    [1024 ** 3 - 1, "1.0 GiB"],
    [3000, "3 KiB"],
    [12, "12 B"],
  ])("%d bytes are %s", (value, text) => {
    expect(format.bytes(value)).toBe(text);
  });
});

describe("durations", () => {
  test.each([
    [0, "0 s"],
    [0.126, "126 ms"],
    [2.44, "2.4 s"],
    [88, "88 s"],
    [2520.5, "42 min"],
    [5220, "1 h 27 min"],
    [7200, "2 h"],
    [86400 * 3 + 3600 * 4, "3 days 4 h"],
  ])("%d seconds are %s", (seconds, text) => {
    expect(format.duration(seconds)).toBe(text);
  });

  test.each([
    [-5, "just now"],
    [87 * 60, "87 min ago"],
    [5 * 3600, "5 h ago"],
    [3 * 86400, "3 days ago"],
  ])("%d seconds ago is %s", (seconds, text) => {
    expect(format.ago(seconds)).toBe(text);
  });

  test.each([
    [-1, "0:00"],
    [65, "1:05"],
    [600, "10:00"],
    [3725, "1:02:05"],
  ])("a stopwatch shows %d as %s", (seconds, text) => {
    expect(format.stopwatch(seconds)).toBe(text);
  });
});

test("a moment is written by the local clock", () => {
  const moment = new Date(2026, 10, 18, 3, 5, 9).getTime() / 1000;

  expect(format.clockTime(moment)).toBe("03:05");
  expect(format.clockTimeWithSeconds(moment)).toBe("03:05:09");
  expect(format.dateAndTime(moment)).toBe("18 Nov 2026, 03:05");
});

test.each([
  ["bytes", 1024 ** 3, "1.0 GiB"],
  ["fraction", 0.5, "50%"],
  ["seconds", 90, "2 min"],
  ["count", 1234, "1,234"],
  ["per_second", 31.4, "31.4/s"],
  ["celsius", 91, "91 °C"],
  ["watts", 250.5, "251 W"],
  ["number", Number.NaN, "NaN"],
  ["number", null, "–"],
] as const)("a quantity of %s: %s is %s", (unit, value, text) => {
  expect(format.quantity(unit, value)).toBe(text);
});
