import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Workers } from "../api-types";
import { type Asked, serve } from "../testing/answers";
import { example, WORKERS } from "../testing/http-api-examples";
import { story } from "../testing/rows";
import { until } from "../testing/until";
import { gradient, heatOf, rangeOf, WorkerMap } from "./worker-map";

const TWO: Workers = { size: 2, notes: [], table: [] };

let asked: Asked[];

beforeEach(() => {
  asked = serve(() => ({ json: example(WORKERS) }));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("one worker alone has no map", () => {
  const { container } = render(<WorkerMap story={story()} />);

  expect(container.textContent).toBe("");
});

test("every worker has a row that says its range", async () => {
  render(<WorkerMap story={story({ workers: TWO })} />);

  const rows = await screen.findAllByRole("img");
  expect(rows.map((row) => row.getAttribute("aria-label"))).toEqual([
    "250 ms to 21 s",
    "250 ms to 278 ms",
  ]);
});

test("another quantity asks the server again", async () => {
  render(<WorkerMap story={story({ workers: TWO })} />);
  await screen.findAllByRole("img");

  fireEvent.click(screen.getByRole("button", { name: "Memory" }));

  await until(() => expect(asked.at(-1)?.url).toContain("quantity=memory"));
});

describe("heat", () => {
  test("is even over a small range and logarithmic over a large one", () => {
    expect(heatOf(15, [10, 20])).toBe(0.5);
    expect(heatOf(1, [0.01, 100])).toBeCloseTo(0.5);
  });

  test("has no range without numbers", () => {
    expect(rangeOf([null, null])).toBeNull();
    expect(rangeOf([3, null, 1])).toEqual([1, 3]);
  });

  test("leaves holes where nothing was measured", () => {
    expect(gradient([1, null], [0, 1])).toContain("transparent 50.00% 100.00%");
  });
});
