import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keysShown, switchKeys, watchKeys } from "./keys";

const goToRuns = vi.fn();
let stop = () => {};

beforeEach(() => {
  goToRuns.mockClear();
  keysShown.value = false;
  switchKeys(true);
  stop = watchKeys(goToRuns);
});
afterEach(() => {
  stop();
  document.body.replaceChildren();
});

function press(key: string, target: EventTarget = document.body) {
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
  );
}

test("g, then r goes to all runs; r alone does not", () => {
  press("r");
  expect(goToRuns).not.toHaveBeenCalled();

  press("g");
  press("r");
  expect(goToRuns).toHaveBeenCalledOnce();
});

test("letters in a text are text", () => {
  const input = document.createElement("input");
  document.body.append(input);

  press("g", input);
  press("r", input);
  press("?", input);

  expect(goToRuns).not.toHaveBeenCalled();
  expect(keysShown.value).toBe(false);
});

test("letters can be switched off, the list of keys cannot", () => {
  switchKeys(false);

  press("g");
  press("r");
  press("?");

  expect(goToRuns).not.toHaveBeenCalled();
  expect(keysShown.value).toBe(true);
  press("Escape");
  expect(keysShown.value).toBe(false);
});
