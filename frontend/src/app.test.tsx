import { cleanup, render, screen } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { App } from "./app";
import { nav, open, runPlace } from "./state";
import { serve } from "./testing/answers";
import { ERROR, example, RUNS } from "./testing/http-api-examples";
import { START } from "./url-state";

beforeEach(() => {
  nav.value = START;
  serve(({ url }) =>
    url === "./runs" ? { json: example(RUNS) } : { json: example(ERROR), status: 404 },
  );
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("opens with the run list, and follows the address", async () => {
  render(<App />);
  expect(await screen.findByRole("table")).toBeTruthy();

  open(runPlace("bs513"));
  expect(await screen.findByText(/There is no run called “bs513”/)).toBeTruthy();

  open({ view: "runs" });
  expect(await screen.findByRole("table")).toBeTruthy();
});
