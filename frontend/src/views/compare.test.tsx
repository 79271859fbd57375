import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { decodeComparison } from "../api-decode-comparison";
import type { Comparison } from "../api-types";
import { nav, runList } from "../state";
import { type Asked, serve } from "../testing/answers";
import { COMPARE, ERROR, example, LANE } from "../testing/http-api-examples";
import { row } from "../testing/rows";
import { until } from "../testing/until";
import { START } from "../url-state";
import { CompareView } from "./compare";

// There is no canvas in the tests; what is drawn is looked at in a browser.
vi.mock("../lanes/lane-plot", () => ({
  AXIS_WIDTH: 56,
  RIGHT_MARGIN: 14,
  DASHES: [[], [4, 3]],
  lookOf: () => ({}),
  createLanePlot: () => ({
    update: () => undefined,
    resize: () => undefined,
    redraw: () => undefined,
    destroy: () => undefined,
  }),
}));

const given = decodeComparison(example(COMPARE));
let answer: unknown;
let status = 200;
let asked: Asked[];

beforeEach(() => {
  answer = example(COMPARE);
  status = 200;
  nav.value = { ...START, view: "compare", a: "bs512" };
  const runs = ["bs512", "bs128", "another"].map((name) => row({ name }));
  asked = serve(({ url }) => {
    if (url.startsWith("./lane")) return { json: example(LANE) };
    if (url === "./runs") return { json: { logdirs: [], reading: {}, runs } };
    return { json: answer, status };
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function show(fields: Partial<Comparison> = {}) {
  answer = { ...(example(COMPARE) as object), ...fields };
  await runList.refresh();
  render(<CompareView />);
  await screen.findByRole("region", { name: "Comparison" });
}

describe("the example of the document", () => {
  beforeEach(() => show());

  test("answers first", () => {
    const card = screen.getByRole("region", { name: "Comparison" });
    expect(card.querySelector("h2")?.textContent).toBe(given.headline);
    expect(card.textContent).toContain(given.summary);
  });

  test("says which runs they are, how they ended, and why this B", () => {
    const a = within(screen.getByRole("region", { name: "Run A" }));
    const b = screen.getByRole("region", { name: "Run B" });
    expect(a.getByText(given.a.headline)).toBeTruthy();
    expect(b.textContent).toContain(given.b?.headline);
    expect(b.textContent).toContain(given.picked);
  });

  test("ranks the signals, and greys those that are alike", () => {
    const table = screen.getByRole("table", { name: "What differs, first to last" });
    const rows = within(table).getAllByRole("row").slice(1);
    expect(
      rows.map((item) => item.querySelector("th")?.firstChild?.textContent),
    ).toEqual(given.signals.map((signal) => signal.title));
    expect(rows.map((item) => item.className)).toEqual(["", "alike", "alike", "alike"]);
    expect(within(table).getByText("From").title).toBe(given.rule);
  });

  test("shows the settings that differ, and the others on demand", () => {
    const table = screen.getByRole("table", { name: "Settings that differ" });
    expect(within(table).getAllByRole("row")).toHaveLength(3);

    fireEvent.click(screen.getByText("Show all 4 settings"));

    return screen.findByText("Show only those that differ").then(() => {
      expect(within(table).getAllByRole("row")).toHaveLength(5);
    });
  });

  test("draws both runs in each lane and says what they show", async () => {
    await screen.findByRole("img", { name: /^Host memory: A lowest .*; B lowest/ });
    const lanes = asked.filter(({ url }) => url.startsWith("./lane"));
    const of = (run: string) => lanes.filter(({ url }) => url.includes(`run=${run}&`));
    // One lane was recorded in A alone.
    expect(of("bs512")).toHaveLength(4);
    expect(of("bs128")).toHaveLength(3);
  });

  test("zooms to the difference, and back", async () => {
    fireEvent.click(screen.getByText("Zoom to the first difference"));
    expect(nav.value.range?.[0]).toBe(0);

    fireEvent.click(await screen.findByText("Show everything"));
    expect(nav.value.range).toBeNull();
  });

  test("a place in the list zooms to it", () => {
    fireEvent.click(
      screen.getByRole("button", { name: /^Show on the timeline: Host/ }),
    );

    expect(nav.value.range).not.toBeNull();
  });

  test("swaps the runs", () => {
    fireEvent.click(screen.getByText("Swap"));

    expect(nav.value).toMatchObject({ a: "bs128", b: "bs512" });
  });

  test("another run can be chosen for either side", () => {
    fireEvent.change(screen.getByLabelText("Choose run B"), {
      target: { value: "another" },
    });

    expect(nav.value).toMatchObject({ view: "compare", a: "bs512", b: "another" });
  });

  test("asks again for another alignment", async () => {
    fireEvent.click(screen.getByText("Same time since start"));

    await until(() =>
      expect(asked.some(({ url }) => url.includes("align=time"))).toBe(true),
    );
    expect(nav.value.align).toBe("time");
  });
});

test("says what to try first only where something links them", async () => {
  await show({ try_first: null });
  expect(screen.queryByText(/Try this first/)).toBeNull();

  cleanup();
  await show({ try_first: { setting: "data.cache", why: "It can." } });
  expect(screen.getByText("data.cache")).toBeTruthy();
});

test("is calm when there is nothing to compare with", async () => {
  await show({
    b: null,
    clocks: null,
    signals: [],
    lanes: [],
    first: null,
    headline: "There is no healthy run to compare with yet.",
  });

  expect(screen.getByText("There is no healthy run to compare with yet.")).toBeTruthy();
  expect(screen.queryByText("Side by side")).toBeNull();
  expect(screen.queryByText("Swap")).toBeNull();
  expect(screen.getByLabelText("Choose run B")).toBeTruthy();
});

test("a difference that matters more than an earlier one is not called the first", async () => {
  await show({ first: "loss" });

  expect(screen.queryByText("differs first")).toBeNull();
  expect(screen.getByText("matters most")).toBeTruthy();
});

test("an unknown run leads back to all runs", async () => {
  answer = example(ERROR);
  status = 404;
  render(<CompareView />);

  expect(await screen.findByText(/There is no run called/)).toBeTruthy();
  expect(screen.getByText("Show all runs")).toBeTruthy();
});

test("texts from the training stay text", async () => {
  const nasty = "<img src=x onerror=boom()>";
  await show({
    headline: nasty,
    summary: nasty,
    note: nasty,
    picked: nasty,
    settings: [{ name: nasty, a: nasty, b: null }],
    try_first: { setting: nasty, why: nasty },
  });

  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).toContain(nasty);
});
