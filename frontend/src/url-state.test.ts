import { describe, expect, test } from "vitest";
import { hasOurKeys, isOurTab, type Nav, readNav, START, writeNav } from "./url-state";

const deep: Nav = {
  view: "run",
  run: "a/b & c=d#é",
  a: "",
  b: "",
  more: [],
  difference: false,
  align: "step",
  axis: "wall",
  range: [12.5, 99],
  incident: "3",
  filter: "failed",
  cause: "",
  query: "out of",
  sort: { key: "memory", descending: true },
};

describe("the codec", () => {
  test("reads what it wrote", () => {
    expect(readNav(writeNav(deep, "#health"))).toEqual(deep);
  });

  test("reads a comparison that it wrote", () => {
    const compared: Nav = {
      ...START,
      view: "compare",
      a: "x/y & z",
      b: "é",
      align: "end",
      range: [-20, -2.5],
    };

    expect(readNav(writeNav(compared, "#health"))).toEqual(compared);
  });

  test("a comparison needs no second run, but a first", () => {
    expect(readNav("#health&p.health.view=compare&p.health.a=x").view).toBe("compare");
    expect(readNav("#health&p.health.view=compare&p.health.b=x").view).toBe("runs");
  });

  test("writes nothing for the defaults", () => {
    expect(writeNav(START, "#health")).toBe("#health");
  });

  test("leaves the keys of others as they stand", () => {
    const hash = "#health&tagFilter=a%2Fb&p.health.q=old&p.other.x=1";

    expect(writeNav(START, hash)).toBe("#health&tagFilter=a%2Fb&p.other.x=1");
  });

  test("forgets the run on the list", () => {
    expect(writeNav({ ...START, run: "a" }, "#health")).toBe("#health");
  });

  test.each([
    "#health&p.health.view=nonsense",
    "#health&p.health.view=run",
    "#health&p.health.x=sideways&p.health.f=&p.health.sort=-nothing",
    "#health&p.health.view=compare&p.health.align=sideways",
    "#health&p.health.from=5&p.health.to=2",
    "#health&p.health.from=x&p.health.to=NaN",
    "#health&p.other.q=%E0%A4%A",
    "",
  ])("falls back silently for %s", (hash) => {
    expect(readNav(hash)).toEqual(START);
  });

  test("survives a broken percent sign", () => {
    expect(readNav("#health&p.health.q=100%").query).toBe("100%");
  });
});

test("knows whether our tab is open", () => {
  expect(isOurTab("#health&p.health.q=a")).toBe(true);
  expect(isOurTab("#scalars")).toBe(false);
  expect(isOurTab("")).toBe(true);
});

test("knows whether another tab has dropped our keys", () => {
  expect(hasOurKeys("#health")).toBe(false);
  expect(hasOurKeys("#health&p.health.q=a")).toBe(true);
});
