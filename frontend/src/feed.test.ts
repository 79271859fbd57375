import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "./api";
import { createFeed, keepFresh, retryDelay } from "./feed";

const gone = new ApiError("unreachable", 0, "", "gone");

test("retries ever more slowly, but never gives up", () => {
  expect([1, 2, 3, 4, 5, 6, 20].map(retryDelay)).toEqual([2, 4, 8, 16, 32, 60, 60]);
});

describe("a feed", () => {
  test("keeps old data when asking fails, and recovers", async () => {
    const answers = [async () => "old", () => Promise.reject(gone), async () => "new"];
    let time = 10;
    const feed = createFeed(
      () => answers.shift()?.() ?? Promise.reject(gone),
      () => time++,
    );

    await feed.refresh();
    await feed.refresh();
    expect(feed.data.value).toBe("old");
    expect(feed.error.value).toBe(gone);
    expect(feed.receivedAt.value).toBe(10);

    await feed.refresh();
    expect(feed.data.value).toBe("new");
    expect(feed.error.value).toBeNull();
    expect(feed.failures.value).toBe(0);
  });

  test("does not ask twice at once", async () => {
    const source = vi.fn(async () => 1);
    const feed = createFeed(source);

    await Promise.all([feed.refresh(), feed.refresh()]);

    expect(source).toHaveBeenCalledTimes(1);
  });
});

describe("keeping fresh", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function watched(source: () => Promise<number>) {
    const visible = signal(true);
    const reloads = signal(0);
    const feed = createFeed(source);
    const stop = keepFresh(feed, { every: () => 10, visible, reloads });
    return { visible, reloads, stop };
  }

  test("asks at once and then by its rhythm", async () => {
    const source = vi.fn(async () => 1);
    watched(source);

    await vi.advanceTimersByTimeAsync(25_000);

    expect(source).toHaveBeenCalledTimes(3);
  });

  test("asks when TensorBoard has reloaded", async () => {
    const source = vi.fn(async () => 1);
    const { reloads } = watched(source);
    await vi.advanceTimersByTimeAsync(1);

    reloads.value += 1;
    await vi.advanceTimersByTimeAsync(1);

    expect(source).toHaveBeenCalledTimes(2);
  });

  test("is silent while hidden and asks on return", async () => {
    const source = vi.fn(async () => 1);
    const { visible } = watched(source);
    await vi.advanceTimersByTimeAsync(1);

    visible.value = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(source).toHaveBeenCalledTimes(1);

    visible.value = true;
    await vi.advanceTimersByTimeAsync(1);
    expect(source).toHaveBeenCalledTimes(2);
  });

  test("finds a server that is back after two seconds", async () => {
    const source = vi.fn(async () => 1).mockRejectedValueOnce(gone);
    watched(source);

    await vi.advanceTimersByTimeAsync(2_001);

    expect(source).toHaveBeenCalledTimes(2);
  });

  test("stops when told to", async () => {
    const source = vi.fn(async () => 1);
    const { stop } = watched(source);
    await vi.advanceTimersByTimeAsync(1);

    stop();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(source).toHaveBeenCalledTimes(1);
  });
});
