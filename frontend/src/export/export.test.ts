import { describe, expect, test } from "vitest";
import { fileName } from "./save";
import type { Sheet } from "./sheet";
import { escaped, svgOf } from "./svg";
import { cell, csvOf, jsonOf, tableOf } from "./tables";

const HOSTILE = '<img src=x onerror="alert(1)">\u0000\ud800&';

function sheet(title = "Loss"): Sheet {
  const values = [1, null, Number.NaN, 4];
  return {
    headline: title,
    about: "run",
    axisTitle: "Step",
    range: [0, 3],
    ticks: [{ x: 0, text: "0" }],
    marks: [{ x: 3, label: "Stopped", tone: "fatal", stop: true }],
    lanes: [
      {
        id: "loss",
        title,
        unit: "number",
        series: [],
        inks: ["--line"],
        limits: [],
        log: false,
        track: {
          x: [0, 1, 2, 3],
          series: [
            {
              said: values,
              mean: [1, null, null, 4],
              min: [1, null, null, 4],
              max: [1, null, null, 4],
            },
          ],
          gaps: [],
          notFinite: { from: 2, to: 2, word: "NaN" },
        },
      },
    ],
  };
}

describe("the picture", () => {
  const svg = svgOf(sheet(HOSTILE), () => "#000");

  test("is well-formed whatever the run is called", () => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    expect(parsed.querySelector("img")).toBeNull();
    expect(svg).not.toContain("<img");
    expect(svg).not.toContain("\u0000");
  });

  test("has its words: the headline, the stop, and the number that is none", () => {
    expect(svg).toContain("onerror=&quot;alert(1)&quot;&gt;\ufffd\ufffd&amp;");
    expect(svg).toContain(">Stopped<");
    expect(svg).toContain(">NaN<");
  });

  test("draws no line through a gap", () => {
    expect(svg).toMatch(/d="M190 [\d.]+M1176 [\d.]+"/);
  });
});

test("the picture takes no megabyte of words", () => {
  expect(escaped("x".repeat(1_000_000)).length).toBeLessThan(1_000);
});

describe("the table", () => {
  test("has one row for each sample, and nothing where nothing was", () => {
    expect(csvOf(sheet())).toBe("Step,Loss\r\n0,1\r\n1,\r\n2,NaN\r\n3,4\r\n");
  });

  test("keeps the last row when there are too many", () => {
    const { rows, total } = tableOf(sheet(), 2);

    expect(rows.map(({ x }) => x)).toEqual([1, 3]);
    expect(total).toBe(4);
  });

  test("leaves out what is not in sight", () => {
    expect(csvOf({ ...sheet(), range: [3, 9] })).toBe("Step,Loss\r\n3,4\r\n");
  });

  test.each([
    ["=1+1", "'=1+1"],
    ["-3.5", "-3.5"],
    ['a,"b"', '"a,""b"""'],
  ])("writes %s as %s", (words, written) => {
    expect(cell(words)).toBe(written);
  });
});

test("JSON says NaN in a word", () => {
  const written = JSON.parse(jsonOf(sheet(), { headline: "x" }));

  expect(written.told).toEqual({ headline: "x" });
  expect(written.lanes[0].series[0].value).toEqual([1, null, "NaN", 4]);
});

test("a file has a plain name", () => {
  const at = new Date(2026, 10, 18, 9, 5);

  expect(fileName("../a b/ü", "svg", at)).toBe("health_a_b_20261118-0905.svg");
  expect(fileName("…", "svg", at)).toBe("health_run_20261118-0905.svg");
});
