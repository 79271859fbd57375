import { signal } from "@preact/signals";
import { expect, test, vi } from "vitest";
import { story } from "../testing/rows";
import { marksOf, placeMarks } from "./marks";
import { runClock } from "./run-clock";
import { type KeyTargets, timelineKey } from "./timeline-keys";

function press(key: string, given: Partial<KeyTargets> = {}, shiftKey = false) {
  const targets: KeyTargets = {
    range: [0, 200],
    full: [0, 400],
    cursor: signal(100),
    marks: placeMarks(marksOf(story()), "step", runClock(1000, null), [0, 200], 800),
    selected: "",
    onZoom: vi.fn(),
    onSelect: vi.fn(),
    ...given,
  };
  const event = new KeyboardEvent("keydown", { key, shiftKey, cancelable: true });
  timelineKey(event, targets);
  return { ...targets, handled: event.defaultPrevented };
}

test("arrows move the cursor, with Shift ten times as far", () => {
  expect(press("ArrowRight").cursor.value).toBe(101);
  expect(press("ArrowLeft", {}, true).cursor.value).toBe(90);
});

test("comma and full stop move the zoom, but not out of the run", () => {
  expect(press(".").onZoom).toHaveBeenCalledWith([40, 240]);
  expect(press(",").onZoom).toHaveBeenCalledWith([0, 200]);
});

test("the cursor stays in sight", () => {
  expect(press("ArrowRight", { cursor: signal(200) }).cursor.value).toBe(200);
});

test("plus and minus zoom, 0 shows everything", () => {
  expect(press("+").onZoom).toHaveBeenCalledWith([50, 150]);
  expect(press("-").onZoom).toHaveBeenCalledWith(null);
  expect(press("0").onZoom).toHaveBeenCalledWith(null);
});

test("n and p go through the incidents", () => {
  expect(press("n").onSelect).toHaveBeenCalledWith("stop");
  expect(press("p").onSelect).toHaveBeenCalledWith("stop");
  expect(press("n", { selected: "stop" }).onSelect).not.toHaveBeenCalled();
});

test("other keys are left to the browser", () => {
  expect(press("n").handled).toBe(true);
  expect(press("Tab").handled).toBe(false);
});
