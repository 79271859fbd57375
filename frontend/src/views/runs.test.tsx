import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunRow } from "../api-types";
import { nav, runList } from "../state";
import { type Answer, serve } from "../testing/answers";
import { example, RUNS } from "../testing/http-api-examples";
import { row, unmonitored } from "../testing/rows";
import { until } from "../testing/until";
import { START } from "../url-state";
import { picks } from "./run-picks";
import { RunsView } from "./runs";

let answer: Answer | undefined;

beforeEach(() => {
  nav.value = START;
  picks.value = [];
  serve(() => answer);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function show(runs: RunRow[], reading = {}) {
  answer = { json: { logdirs: ["/logs"], reading, runs } };
  await runList.refresh();
  render(<RunsView />);
  // The view asks on its own when it opens; let that be over.
  await runList.refresh();
}

const shownNames = () =>
  [...document.querySelectorAll("tbody .run-name")].map((name) => name.textContent);

describe("the table", () => {
  test("shows the example of the document", async () => {
    answer = { json: example(RUNS) };
    await runList.refresh();

    render(<RunsView />);

    expect(shownNames()).toEqual(["bs512", "tabnet"]);
    const cells = screen.getAllByRole("row")[1]?.textContent;
    expect(cells).toContain("Error");
    expect(cells).toContain("1,234 / 10,000");
    expect(cells).toContain("42 min");
    expect(cells).toContain("GiB");
    expect(screen.getByText("1 file could not be read completely")).toBeTruthy();
  });

  test("leaves out columns nobody has data for", async () => {
    await show([row({ peak_memory_bytes: 1024 ** 3 })]);

    const titles = screen.getAllByRole("columnheader").map((head) => head.textContent);
    expect(titles).toEqual([
      "Compare",
      "Health",
      "Run",
      "Steps",
      "Ran for",
      "Peak memory",
      "Started",
    ]);
  });

  test("says what asks for attention in bold", async () => {
    await show([
      row({ data_wait_fraction: 0.62 }),
      row({ name: "b", data_wait_fraction: 0.1 }),
    ]);

    const alarming = [...document.querySelectorAll(".alarming")];
    expect(alarming.map((meter) => meter.textContent)).toEqual(["62%"]);
  });

  test("keeps only the rows on screen in the page", async () => {
    await show(Array.from({ length: 1000 }, (_, n) => row({ name: `run${n}` })));

    expect(shownNames().length).toBeLessThan(60);
    expect(screen.getByRole("table").getAttribute("aria-rowcount")).toBe("1001");
  });

  test("shows names as text", async () => {
    await show([row({ name: "<img src=x onerror=boom()>" })]);

    expect(shownNames()).toEqual(["<img src=x onerror=boom()>"]);
    expect(document.querySelector("img")).toBeNull();
  });

  test("a click on a row opens the run", async () => {
    await show([row({ name: "a" })]);

    fireEvent.click(screen.getByText("Healthy", { selector: ".chip *" }));

    expect(nav.value).toMatchObject({ view: "run", run: "a" });
  });
});

describe("finding runs", () => {
  const runs = [
    row({ name: "good" }),
    row({ name: "bad", state: "failed", severity: "critical" }),
  ];

  test("pills filter and count, and empty ones are not offered", async () => {
    await show(runs);
    const group = screen.getByRole("group", { name: "Show runs that are" });
    const pills = within(group).getAllByRole("button", { pressed: false });
    expect(pills.map((pill) => pill.textContent)).toEqual(["Failed 1", "Finished 1"]);

    fireEvent.click(screen.getByText("Failed"));

    await until(() => expect(shownNames()).toEqual(["bad"]));
  });

  test("a cause filters, and a second click takes it off again", async () => {
    await show([...runs, row({ name: "nan", severity: "critical", chip: "NaN loss" })]);

    fireEvent.click(screen.getByRole("button", { name: /^NaN loss/ }));
    await until(() => expect(shownNames()).toEqual(["nan"]));

    fireEvent.click(screen.getByRole("button", { name: /^NaN loss/ }));
    await until(() => expect(shownNames()).toHaveLength(3));
  });

  test("the search narrows, and a way back is offered", async () => {
    await show(runs);

    fireEvent.input(screen.getByRole("searchbox"), { target: { value: "zzz" } });
    fireEvent.click(await screen.findByText("Show all runs"));

    await until(() => expect(shownNames()).toHaveLength(2));
  });

  test("headers sort", async () => {
    await show(runs);

    fireEvent.click(screen.getByText("Run"));

    await until(() => expect(shownNames()).toEqual(["bad", "good"]));
    const head = screen.getByRole("columnheader", { name: "Run" });
    expect(head.getAttribute("aria-sort")).toBe("ascending");
  });
});

test("live runs in trouble come on top", async () => {
  await show([
    row({ state: "stuck", severity: "critical", headline: "No step for 18 min" }),
  ]);

  expect(screen.getByText("Needs you now")).toBeTruthy();
  expect(screen.getByText("No step for 18 min")).toBeTruthy();
});

test("reading shows its progress and the rows it has", async () => {
  await show([row(unmonitored)], { complete: false, runs_found: 9, runs_read: 1 });

  expect(screen.getByText("Reading event files: 1 of 9 runs")).toBeTruthy();
  expect(shownNames()).toHaveLength(1);
});

test("a run that is not judged yet does not look well", async () => {
  const reading = { complete: false, runs_found: 2, runs_read: 2, runs_judged: 1 };
  await show([row({ name: "new", judged: false }), row({ name: "old" })], reading);

  expect(screen.getByText("Looking for causes: 1 of 2 runs")).toBeTruthy();
  expect(screen.getByText("Being judged")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Finished 1" })).toBeTruthy();
});

test("a server that is gone leaves the old data with a bar on top", async () => {
  await show([row({ name: "old" })]);

  answer = undefined;
  await runList.refresh();

  expect(
    await screen.findByText(/TensorBoard did not answer. Showing data from/),
  ).toBeTruthy();
  expect(shownNames()).toEqual(["old"]);

  answer = { json: { runs: [row({ name: "new" })] } };
  fireEvent.click(screen.getByText("Try again"));

  await until(() => expect(shownNames()).toEqual(["new"]));
  expect(screen.queryByText(/did not answer/)).toBeNull();
});

describe("picking runs to compare", () => {
  const box = (name: string) =>
    screen.getByRole("checkbox", { name: `Compare ${name}` });

  test("two ticks lead to their comparison, and open neither run", async () => {
    await show([row({ name: "one" }), row({ name: "two" })]);

    fireEvent.click(box("one"));
    fireEvent.click(box("two"));
    fireEvent.click(await screen.findByRole("link", { name: "Compare" }));

    expect(nav.value).toMatchObject({ view: "compare", a: "one", b: "two" });
  });

  test("one tick is enough: a healthy run is picked", async () => {
    await show([row({ name: "one" }), row({ name: "two" })]);

    fireEvent.click(box("one"));
    const link = await screen.findByRole("link", {
      name: "Compare with a healthy run",
    });
    fireEvent.click(link);

    expect(nav.value).toMatchObject({ view: "compare", a: "one", b: "" });
  });

  test("a ninth tick drops the oldest, and a tick can be taken back", async () => {
    const names = [..."123456789"].map((digit) => `run ${digit}`);
    await show(names.map((name) => row({ name })));

    for (const name of names) fireEvent.click(box(name));
    expect(picks.value).toEqual(names.slice(1));

    fireEvent.click(box("run 2"));
    expect(picks.value).toEqual(names.slice(2));

    fireEvent.click(await screen.findByText("Clear"));
    expect(picks.value).toEqual([]);
  });

  test("a run without health data cannot be picked", async () => {
    await show([row({ name: "one" }), row({ ...unmonitored, name: "two" })]);

    expect(screen.getAllByRole("checkbox")).toHaveLength(1);
  });
});
