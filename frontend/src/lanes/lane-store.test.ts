import { afterEach, describe, expect, test, vi } from "vitest";
import { serve } from "../testing/answers";
import { points } from "../testing/rows";
import { until } from "../testing/until";
import { createLaneStore, wantsDetail, widened } from "./lane-store";

afterEach(() => vi.unstubAllGlobals());

const zoom = { axis: "step", from: 0, to: 1 } as const;

describe("detail", () => {
  test("is wanted where samples were joined and few are in sight", () => {
    expect(wantsDetail(points([1, 2, 3], { bucketed: true }), zoom)).toBe(true);
    expect(wantsDetail(points([1, 2, 3]), zoom)).toBe(false);
    expect(wantsDetail(null, zoom)).toBe(false);
  });

  test("reaches beyond the zoom on both sides", () => {
    expect(widened({ axis: "time", from: 10, to: 20 })).toEqual({
      axis: "time",
      from: 5,
      to: 25,
    });
  });

  test("replaces the coarse points until the zoom ends", async () => {
    serve(({ url }) => ({
      json: points(url.includes("from=") ? [1, 1, 1, 1] : [1, 2], { bucketed: true }),
    }));
    const store = createLaneStore("run");
    const shown = store.points("loss");

    store.refresh(["loss"]);
    await until(() => expect(shown.value?.samples).toBe(2));

    store.zoom(["loss"], zoom);
    expect(shown.value?.samples).toBe(2);
    await until(() => expect(shown.value?.samples).toBe(4));

    store.zoom(["loss"], null);
    expect(shown.value?.samples).toBe(2);
  });

  test("is asked for once, when the zoom rests, and kept while it reaches", async () => {
    const asked = serve(({ url }) => ({
      json: points(url.includes("from=") ? [1, 1, 1, 1] : [1, 2], {
        bucketed: !url.includes("from="),
      }),
    }));
    const fine = () => asked.filter(({ url }) => url.includes("from=")).length;
    const store = createLaneStore("run");
    store.refresh(["loss"]);
    await until(() => expect(store.points("loss").value?.samples).toBe(2));

    for (let at = 0; at < 20; at += 1) {
      store.zoom(["loss"], { axis: "step", from: at / 100, to: 1 + at / 100 });
    }
    await until(() => expect(store.points("loss").value?.samples).toBe(4));
    store.zoom(["loss"], { axis: "step", from: 0.3, to: 1.3 });
    expect(store.points("loss").value?.samples).toBe(4);
    await new Promise((resolve) => setTimeout(resolve, 200));

    expect(fine()).toBe(1);
  });

  test("is also fetched for a zoom that came with the address", async () => {
    serve(({ url }) => ({
      json: points(url.includes("from=") ? [1, 1, 1, 1] : [1, 2], { bucketed: true }),
    }));
    const store = createLaneStore("run");

    store.zoom(["loss"], zoom);
    store.refresh(["loss"]);

    await until(() => expect(store.points("loss").value?.samples).toBe(4));
  });
});

test("a lane that cannot be read is known to have failed", async () => {
  serve(() => ({ status: 500, json: {} }));
  const store = createLaneStore("run");

  store.refresh(["loss"]);

  await until(() => expect(store.failed("loss")).toBe(true));
});
