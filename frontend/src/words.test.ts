import { describe, expect, test } from "vitest";
import { ApiError } from "./api";
import { lane, row, unmonitored } from "./testing/rows";
import * as words from "./words";

describe("when the server fails", () => {
  const twoPastTwo = new Date(2026, 10, 18, 14, 2).getTime() / 1000;

  test("no answer names the age of what is shown", () => {
    const gone = new ApiError("unreachable", 0, "", "");

    expect(words.failureSentence(gone, twoPastTwo)).toBe(
      "TensorBoard did not answer. Showing data from 14:02.",
    );
  });

  test("nothing is promised where nothing is shown", () => {
    const gone = new ApiError("unreachable", 0, "", "");

    expect(words.failureSentence(gone, null)).toBe("TensorBoard did not answer.");
  });

  test("an error is given with its reason", () => {
    const refused = new ApiError("refused", 500, "internal", "It broke.");

    expect(words.failureSentence(refused, null)).toBe(
      "TensorBoard answered with an error (500): It broke.",
    );
  });
});

describe("a sign of life", () => {
  test("is recent", () => {
    expect(words.signOfLife("running", 3)).toEqual({
      quiet: false,
      sentence: "Live. Last sign of life 3 s ago",
    });
  });

  test("is missing", () => {
    expect(words.signOfLife("running", 40)).toEqual({
      quiet: true,
      sentence: "No sign of life for 40 s",
    });
  });

  test("does not call a stuck run live", () => {
    expect(words.signOfLife("stuck", 3).sentence).not.toMatch(/^Live/);
  });

  test("from a clock ahead of ours is not negative", () => {
    expect(words.signOfLife("running", -8).sentence).toContain("0 s ago");
  });
});

test("reading progress counts runs", () => {
  const reading = {
    complete: false,
    runs_found: 1000,
    runs_read: 320,
    runs_judged: 0,
    problems: [],
  };

  expect(words.readingSentence(reading, 5)).toBe(
    "Reading event files: 320 of 1,000 runs",
  );
  const read = { ...reading, runs_read: 1000, runs_judged: 40 };
  expect(words.readingSentence(read, 990)).toBe("Looking for causes: 40 of 990 runs");
});

test.each([
  [1.4, "1 new second"],
  [48, "48 new seconds"],
  [61, "1 new minute"],
  [190, "3 new minutes"],
  [7300, "2 new hours"],
])("%d s that came while zoomed are said", (seconds, said) => {
  expect(words.newTime(seconds)).toBe(said);
});

test("one of a thing is not called many", () => {
  expect(words.problemsTitle(1)).toBe("1 file could not be read completely");
  expect(words.noneMonitored(3)).toBe("3 runs found, none of them with health data");
});

test("a chart says its extremes and its end", () => {
  const summary = { lowest: 0.1, highest: 2.5, last: Number.NaN };

  expect(words.laneLabel(lane(), summary)).toBe(
    "Loss: lowest 0.1, highest 2.5, last NaN",
  );
});

test("what was not recorded comes with its reason", () => {
  const item = { what: "GPU", why: "no NVIDIA driver found", enable: null };

  expect(words.notRecorded(item)).toBe("GPU (no NVIDIA driver found)");
});

test("a place holds only what is known", () => {
  expect(words.placeWords({ file: "train.py", line: 41 })).toBe("train.py, line 41");
  expect(words.placeWords({ file: "train.py" })).toBe("train.py");
  expect(words.placeWords({})).toBe("");
  expect(words.placeWords({ worker: "worker 1", step: 3 })).toBe("worker 1, step 3");
  expect(words.placeWords({ layer: "dense_2", line: 4, file: "a.py" })).toBe(
    "a.py, line 4, layer dense_2",
  );
});

test("no sentence shouts or blames", () => {
  const said = [
    words.STILL_WAITING,
    words.noSuchRun("a"),
    words.noRunsSentence([]),
    ...[row(), row({ state: "running" }), row(unmonitored)].map(words.calmSentence),
  ].join(" ");

  expect(said).not.toMatch(/!|you forgot/i);
});
