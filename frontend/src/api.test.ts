import { afterEach, describe, expect, test, vi } from "vitest";
import { ApiError, laneSource, runListSource, storySource } from "./api";
import { decodeError, decodeLane, decodeRunList, decodeStory } from "./api-decode";
import { decodeComparison } from "./api-decode-comparison";
import { decodeEvents, decodeTraining } from "./api-decode-training";
import { serve } from "./testing/answers";
import {
  COMPARE,
  ERROR,
  EVENTS,
  example,
  LANE,
  RUN,
  RUNS,
  TRAINING,
} from "./testing/http-api-examples";

afterEach(() => vi.unstubAllGlobals());

// Equal, field by field: neither the document nor the types can drift alone.
describe("the examples of http_api.md", () => {
  test("the run list", () => {
    expect(decodeRunList(example(RUNS))).toEqual(example(RUNS));
  });

  test("the story", () => {
    expect(decodeStory(example(RUN))).toEqual(example(RUN));
  });

  test("the points of a lane", () => {
    expect(decodeLane(example(LANE))).toEqual(example(LANE));
  });

  test("a comparison", () => {
    expect(decodeComparison(example(COMPARE))).toEqual(example(COMPARE));
  });

  test("what is inside a training", () => {
    expect(decodeTraining(example(TRAINING))).toEqual(example(TRAINING));
  });

  test("raw events", () => {
    expect(decodeEvents(example(EVENTS))).toEqual(example(EVENTS));
  });

  test("an error", () => {
    expect({ error: decodeError(example(ERROR)) }).toEqual(example(ERROR));
  });
});

describe("decoding", () => {
  test("turns the words for what JSON cannot say into numbers", () => {
    const lane = decodeLane({
      series: [{ column: "loss", mean: ["NaN", "Infinity", "-Infinity", null, 1] }],
    });

    expect(lane.series[0]?.mean).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      null,
      1,
    ]);
  });

  test.each([null, undefined, 3, "text", [], {}, { runs: 1, run: [], lanes: {} }])(
    "makes something of %j",
    (answer) => {
      expect(decodeRunList(answer).runs).toEqual([]);
      expect(decodeStory(answer).verdict).toBeNull();
      expect(decodeLane(answer).time).toEqual([]);
      expect(decodeComparison(answer).signals).toEqual([]);
      expect(decodeTraining(answer).layers).toEqual([]);
      expect(decodeEvents(answer).events).toEqual([]);
      expect(decodeError(answer)).toBeNull();
    },
  );

  test("takes a state it does not know for unknown", () => {
    const list = decodeRunList({ runs: [{ monitored: true, state: "paused" }] });

    expect(list.runs[0]?.state).toBe("unknown");
    expect(list.runs[0]?.severity).toBe("info");
  });

  test("shows settings that are not text as JSON", () => {
    const story = decodeStory({ settings: { batch: 32, layers: [1, 2] } });

    expect(story.settings).toEqual({ batch: "32", layers: "[1,2]" });
  });
});

describe("asking", () => {
  test("an unchanged answer is the very same object", async () => {
    const asked = serve(({ headers }) =>
      headers.get("If-None-Match") === '"1"'
        ? { status: 304 }
        : { json: example(RUNS), etag: '"1"' },
    );
    const source = runListSource();

    const first = await source();
    const second = await source();

    expect(second).toBe(first);
    expect(asked).toHaveLength(2);
  });

  test("escapes the run's name", async () => {
    const asked = serve(() => ({ json: {} }));

    await storySource("a&b=c/é")();

    expect(asked[0]?.url).toBe("./run?run=a%26b%3Dc%2F%C3%A9");
  });

  test("asks for a range of a lane", async () => {
    const asked = serve(() => ({ json: {} }));

    await laneSource("r", "loss", 800, { axis: "step", from: 5, to: 9.5 })();

    expect(asked[0]?.url).toBe(
      "./lane?run=r&lane=loss&buckets=800&axis=step&from=5&to=9.5",
    );
  });

  test.each([
    ["is gone", undefined, { failure: "unreachable", status: 0 }],
    [
      "says no",
      { json: example(ERROR), status: 404 },
      { failure: "refused", status: 404, code: "not_found" },
    ],
    [
      "is a proxy",
      { text: "<h1>Bad gateway</h1>", status: 502 },
      { failure: "refused", status: 502 },
    ],
    ["talks nonsense", { text: "{" }, { failure: "unreadable", status: 200 }],
  ])("fails with its reason when the server %s", async (_, answer, expected) => {
    serve(() => answer);

    const failure = await runListSource()().catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject(expected);
  });
});
