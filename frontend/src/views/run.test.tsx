import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { decodeStory } from "../api-decode";
import type { Story } from "../api-types";
import { bytes } from "../format";
import { nav, reloads } from "../state";
import { serve } from "../testing/answers";
import { ERROR, example, LANE, RUN } from "../testing/http-api-examples";
import { finding, lane, row, story, unmonitored } from "../testing/rows";
import { until } from "../testing/until";
import { START } from "../url-state";
import { RunView } from "./run";

// There is no canvas in the tests; what is drawn is looked at in a browser.
vi.mock("../lanes/lane-plot", () => ({
  AXIS_WIDTH: 56,
  RIGHT_MARGIN: 14,
  DASHES: [[], [4, 3]],
  createLanePlot: () => ({
    update: () => undefined,
    resize: () => undefined,
    redraw: () => undefined,
    destroy: () => undefined,
  }),
}));

let answer: unknown;
let status = 200;

beforeEach(() => {
  status = 200;
  nav.value = { ...START, view: "run", run: "bs512" };
  serve(({ url }) =>
    url.startsWith("./lane") ? { json: example(LANE) } : { json: answer, status },
  );
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function show(fields: Partial<Story>) {
  answer = story(fields);
  render(<RunView name="bs512" />);
  await screen.findByRole("region", { name: "Verdict" });
}

test("a lane that only supports the verdict does not explain the stop", async () => {
  const memory = (strength: "strong" | "supporting") => ({
    text: "Memory was low.",
    strength,
    lane: "host_memory",
    step: 1,
    wall_time: 1,
  });
  const lanes = [lane({ id: "host_memory" })];
  const run = row({ state: "failed" });

  await show({ run, verdict: finding({ evidence: [memory("supporting")] }), lanes });
  expect(screen.queryByText("explains the stop")).toBeNull();

  cleanup();
  await show({ run, verdict: finding({ evidence: [memory("strong")] }), lanes });
  expect(screen.getByText("explains the stop")).toBeTruthy();
});

test("has no confidence in a cause it does not know", async () => {
  await show({ verdict: finding({ id: "unknown", confidence: "possible" }) });

  const card = screen.getByRole("region", { name: "Verdict" });
  expect(card.textContent).not.toContain("Confidence");
});

describe("the example of the document", () => {
  beforeEach(async () => {
    answer = example(RUN);
    render(<RunView name="bs512" />);
    await screen.findByRole("region", { name: "Verdict" });
  });

  const { run, verdict, incidents, lanes, not_measured } = decodeStory(example(RUN));

  test("answers first: headline, confidence, reason", () => {
    const card = screen.getByRole("region", { name: "Verdict" });
    expect(card.querySelector("h2")?.textContent).toBe(verdict?.headline);
    expect(card.textContent).toContain("Confidence Proven");
    expect(card.textContent).toContain(verdict?.because);
    expect(card.textContent).toContain("train.py, line 41");
    expect(card.textContent).toContain(verdict?.evidence[0]?.text);
    expect(card.textContent).toContain(verdict?.fixes[0]?.title);
    const [page] = verdict?.docs ?? [];
    const link = screen.getByRole("link", { name: page?.name ?? "no page" });
    expect(link.getAttribute("href")).toBe(page?.url);
  });

  test("gives the facts", () => {
    const facts = document.querySelector(".facts")?.textContent;
    expect(facts).toContain("1,234 of 10,000");
    expect(facts).toContain(`${bytes(run.peak_memory_bytes ?? 0)} of 16.0 GiB`);
  });

  test("draws every lane and says what it shows", async () => {
    await screen.findByRole("img", { name: /^Host memory: lowest 1.0 GiB, highest/ });
    expect(screen.getAllByRole("img")).toHaveLength(lanes.length);
    expect(screen.getByText("This training")).toBeTruthy();
  });

  test("shows incidents with their traceback, and what was not recorded", () => {
    expect(document.querySelector("pre")?.textContent).toBe(incidents[0]?.text);
    const [missing] = not_measured;
    expect(
      screen.getByText(`Not recorded: ${missing?.what} (${missing?.why})`),
    ).toBeTruthy();
  });

  test("keeps settings, and says nothing of a single attempt", () => {
    expect(screen.getByText("Settings and environment")).toBeTruthy();
    expect(screen.queryByText("Attempts")).toBeNull();
  });

  test("has one main heading: the run", () => {
    const headings = screen.getAllByRole("heading", { level: 1 });
    expect(headings.map((heading) => heading.textContent)).toEqual(["bs512"]);
  });

  test("leads to a comparison with a healthy run", () => {
    fireEvent.click(screen.getByRole("link", { name: "Compare with a healthy run" }));

    expect(nav.value).toMatchObject({ view: "compare", a: "bs512", b: "" });
  });

  test("Show zooms to the place of the evidence", () => {
    fireEvent.click(screen.getByRole("button", { name: /^Show on the timeline/ }));

    const [from, to] = nav.value.range ?? [0, 0];
    expect(from).toBeLessThan(1234);
    expect(to).toBeGreaterThan(1234);
  });

  test("the axis can be switched", async () => {
    fireEvent.click(screen.getByText("Time since start"));

    await until(() => expect(nav.value.axis).toBe("rel"));
  });
});

describe("without a verdict", () => {
  test("a finished run is calm", async () => {
    await show({});

    const verdict = screen.getByRole("region", { name: "Verdict" });
    expect(verdict.className).toContain("ok");
    expect(verdict.textContent).not.toContain("Confidence");
  });

  test("a live run says when it was last heard of", async () => {
    const now = Date.now() / 1000;
    await show({
      run: row({ state: "running", ended_at: null, last_seen_at: now - 3 }),
    });

    expect(screen.getByText(/^Live. Last sign of life/)).toBeTruthy();
  });

  test("a run that is not monitored shows the line to add", async () => {
    await show({ run: row(unmonitored) });

    expect(screen.getByText("Paste this")).toBeTruthy();
  });
});

test("an unknown run leads back to all runs", async () => {
  answer = example(ERROR);
  status = 404;

  render(<RunView name="bs513" />);

  expect(await screen.findByText(/There is no run called “bs513”/)).toBeTruthy();
  expect(screen.getByText("Show all runs")).toBeTruthy();
  expect(screen.queryByText("Try again")).toBeNull();
});

test("texts from the training stay text", async () => {
  const nasty = "<img src=x onerror=boom()>";
  const evidence = {
    text: nasty,
    strength: "strong",
    lane: null,
    step: 1,
    wall_time: null,
  } as const;
  await show({
    run: row({ headline: nasty }),
    verdict: finding({
      headline: nasty,
      because: nasty,
      evidence: [evidence],
      fixes: [{ title: nasty, why: nasty, code: nasty }],
    }),
    findings: [finding({ id: "b", headline: nasty })],
    incidents: [
      {
        id: "0",
        kind: "k",
        severity: "critical",
        message: nasty,
        step: 1,
        wall_time: 1,
        text: nasty,
        threads: [
          {
            trains: true,
            frames: [{ file: nasty, line: 1, function: nasty, library: false }],
          },
        ],
      },
    ],
    not_measured: [{ what: nasty, why: nasty, enable: nasty }],
    lanes: [lane({ title: nasty })],
    settings: { [nasty]: nasty },
  });

  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).toContain(nasty);
});

test("a finding says which other one it comes from", async () => {
  await show({
    verdict: finding({ id: "memory_leak", headline: "Memory grew" }),
    findings: [finding({ id: "host_oom", caused_by: "memory_leak" })],
  });

  expect(screen.getByText("It comes from: Memory grew")).toBeTruthy();
});

test("what was not recorded does not bury the page", async () => {
  const missing = (what: string) => ({ what, why: "", enable: null });
  await show({ not_measured: ["GPU", "swap", "heat", "disks"].map(missing) });

  expect(screen.getByText("2 more that were not recorded")).toBeTruthy();
  expect(screen.getAllByText(/^Not recorded:/)).toHaveLength(4);
});

test("several attempts are listed", async () => {
  const attempt = {
    id: "1",
    host: "node7",
    pid: 1,
    started_at: 1,
    last_seen_at: 2,
    state: "failed",
    first_step: 0,
    last_step: 1200,
  } as const;
  await show({ attempts: [attempt, { ...attempt, id: "2", state: "finished" }] });

  expect(screen.getByText("Attempts")).toBeTruthy();
  expect(screen.getAllByText("0 to 1,200")).toHaveLength(2);
});

test("a changed verdict is announced once", async () => {
  await show({ run: row({ state: "running", headline: "Running" }) });
  const announcer = document.querySelector("[aria-live=polite]");
  expect(announcer?.textContent).toBe("");

  answer = story({ run: row({ state: "stuck", headline: "No step for 18 minutes" }) });
  reloads.value += 1;

  await until(() => expect(announcer?.textContent).toBe("No step for 18 minutes"));
});
