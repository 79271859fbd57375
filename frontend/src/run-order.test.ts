import { describe, expect, test } from "vitest";
import {
  belongsTo,
  countByFilter,
  matches,
  needAttention,
  nextSort,
  ordered,
  selectRuns,
} from "./run-order";
import { row, unmonitored } from "./testing/rows";

const failed = row({ name: "failed", state: "failed", severity: "critical" });
const nan = row({ name: "nan", state: "ended_early", severity: "critical" });
const early = row({ name: "early", state: "ended_early", severity: "info" });
const stuck = row({ name: "stuck", state: "stuck", severity: "critical" });
const growing = row({ name: "growing", state: "running", severity: "warning" });
const healthy = row({ name: "healthy", started_at: 3000 });
const slow = row({ name: "slow", severity: "warning" });
const lost = row({ name: "lost", state: "unknown", severity: "info" });
const none = row({ ...unmonitored, name: "none" });
const all = [failed, nan, early, stuck, growing, healthy, slow, lost, none];

const names = (runs: { name: string }[]) => runs.map((run) => run.name);

describe("filters", () => {
  test.each([
    ["all", names(all)],
    ["failed", ["failed", "nan"]],
    ["stuck", ["stuck"]],
    ["warnings", ["growing", "slow"]],
    ["running", ["growing"]],
    ["early", ["early"]],
    ["unknown", ["lost"]],
    ["healthy", ["healthy"]],
    ["unmonitored", ["none"]],
  ] as const)("%s", (filter, expected) => {
    expect(names(all.filter((run) => belongsTo(run, filter)))).toEqual(expected);
  });

  test("are counted", () => {
    expect(countByFilter(all).get("failed")).toBe(2);
  });

  test("the search finds names and causes, all words, any case", () => {
    const run = row({ name: "resnet/train", chip: "Out of memory" });

    expect(matches(run, "MEMORY resnet")).toBe(true);
    expect(matches(run, "memory vgg")).toBe(false);
    expect(matches(run, "  ")).toBe(true);
  });

  test("filter and search combine", () => {
    expect(
      names(selectRuns(all, { filter: "failed", cause: "", query: "na", sort: null })),
    ).toEqual(["nan"]);
  });
});

describe("order", () => {
  test("is live first, then newest, unrecorded last", () => {
    expect(names(ordered([none, failed, healthy, growing], null))).toEqual([
      "growing",
      "healthy",
      "failed",
      "none",
    ]);
  });

  test("puts what is not recorded last in either direction", () => {
    const big = row({ name: "big", peak_memory_bytes: 2 });
    const small = row({ name: "small", peak_memory_bytes: 1 });
    const by = (descending: boolean) =>
      names(ordered([none, small, big], { key: "memory", descending }));

    expect(by(true)).toEqual(["big", "small", "none"]);
    expect(by(false)).toEqual(["small", "big", "none"]);
  });

  test("counts in names as people do", () => {
    const runs = ["run10", "run9"].map((name) => row({ name }));

    expect(names(ordered(runs, { key: "run", descending: false }))).toEqual([
      "run9",
      "run10",
    ]);
  });

  test("a header sorts, sorts the other way, and lets go", () => {
    const first = nextSort(null, "memory");
    const second = nextSort(first, "memory");

    expect(first).toEqual({ key: "memory", descending: true });
    expect(second).toEqual({ key: "memory", descending: false });
    expect(nextSort(second, "memory")).toBeNull();
    expect(nextSort(first, "run")).toEqual({ key: "run", descending: false });
  });
});

test("only live runs in trouble need someone now, at most three", () => {
  const many = [1, 2, 3, 4].map((n) => row({ ...stuck, name: `s${n}` }));

  expect(names(needAttention(all))).toEqual(["stuck", "growing"]);
  expect(needAttention(many)).toHaveLength(3);
});
