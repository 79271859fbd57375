import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as host from "./host";
import { START } from "./url-state";

const stops: (() => void)[] = [];

beforeEach(() => {
  window.history.replaceState(null, "", "/tb/#health");
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function goTo(hash: string) {
  window.history.replaceState(null, "", `/tb/${hash}`);
  window.dispatchEvent(new Event("hashchange"));
}

describe("the address", () => {
  const run = { ...START, view: "run", run: "a" } as const;

  test("is written beside what others keep there", () => {
    goTo("#health&tagFilter=x");

    host.writeAddress(run, "push");

    expect(window.location.hash).toBe(
      "#health&tagFilter=x&p.health.view=run&p.health.run=a",
    );
    expect(host.currentNav()).toEqual(run);
  });

  test("is left alone while another tab is open", () => {
    goTo("#scalars");

    host.writeAddress(run, "push");

    expect(window.location.hash).toBe("#scalars");
  });

  test("tells about Back and Forward", () => {
    const tell = vi.fn();
    stops.push(host.watchAddress(() => START, tell));

    goTo("#health&p.health.q=bert");

    expect(tell).toHaveBeenCalledWith({ ...START, query: "bert" });
  });

  test("is restored when another tab has dropped our keys", () => {
    const tell = vi.fn();
    stops.push(host.watchAddress(() => run, tell));

    goTo("#scalars");
    goTo("#health");

    expect(tell).not.toHaveBeenCalled();
    expect(host.currentNav()).toEqual(run);
  });

  test("of a link keeps the path", () => {
    expect(host.addressOf(run)).toBe("/tb/#health&p.health.view=run&p.health.run=a");
  });
});

test("the page gets a language and a title", () => {
  host.nameThisPage();

  expect(document.documentElement.lang).toBe("en");
  expect(document.title).toBe("Training Health");
});

test("a frame without height is hidden", () => {
  const told: boolean[] = [];
  stops.push(host.watchVisible((visible) => told.push(visible)));

  vi.stubGlobal("innerHeight", 0);
  window.dispatchEvent(new Event("resize"));
  vi.unstubAllGlobals();

  expect(told).toEqual([true, false]);
});

test("on our own the theme is the system's", () => {
  const told: boolean[] = [];
  stops.push(host.watchTheme((dark) => told.push(dark)));

  expect(told).toEqual([false]);
});
