import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, expect, test } from "vitest";
import type { RunRow } from "../api-types";
import { row, unmonitored } from "../testing/rows";
import { SNIPPETS } from "../words";
import { Start } from "./start";

afterEach(cleanup);

function show(runs: RunRow[]) {
  const reading = {
    complete: true,
    runs_found: 0,
    runs_read: 0,
    runs_judged: 0,
    problems: [],
  };
  render(<Start list={{ logdirs: ["/home/ana/logs"], reading, runs }} />);
}

test("an empty log directory names where TensorBoard looks", () => {
  show([]);

  expect(screen.getByRole("heading", { level: 1 }).textContent).toBe(
    "No runs here yet",
  );
  expect(screen.getAllByText(/\/home\/ana\/logs/)).not.toHaveLength(0);
});

test("runs without health data are counted and listed", () => {
  show([row({ ...unmonitored, name: "a" }), row({ ...unmonitored, name: "b" })]);

  expect(screen.getByText("2 runs found, none of them with health data")).toBeTruthy();
  expect(screen.getByRole("link", { name: "a" })).toBeTruthy();
  expect(screen.getAllByText(/No health data was recorded/)).toHaveLength(2);
});

test("the snippet can be copied", () => {
  show([]);

  expect(document.querySelector(".code-box code")?.textContent).toBe(SNIPPETS.Keras);
  expect(screen.getByRole("button", { name: "Copy the code" })).toBeTruthy();
});

test("there is something to paste for every way to train", () => {
  show([]);

  fireEvent.click(screen.getByRole("button", { name: "Your own loop" }));

  const shown = document.querySelector(".code-box code")?.textContent;
  expect(shown).toBe(SNIPPETS["Your own loop"]);
});
