// Keys that work anywhere in the tab, and the list of all keys.
import { signal } from "@preact/signals";

export interface KeyWords {
  keys: string;
  does: string;
}

/** Every key of the tab, as its list shows them. */
export const KEYS: readonly { where: string; keys: readonly KeyWords[] }[] = [
  {
    where: "Anywhere",
    keys: [
      { keys: "?", does: "show or hide this list" },
      { keys: "g, then r", does: "go to all runs" },
      { keys: "Esc", does: "close what is open" },
    ],
  },
  {
    where: "All runs",
    keys: [
      { keys: "/", does: "search" },
      { keys: "j, k", does: "next and previous run" },
      { keys: "Enter", does: "open the run" },
      { keys: "x", does: "pick the run to compare" },
      { keys: "c", does: "compare the picked runs" },
    ],
  },
  {
    where: "On the timeline",
    keys: [
      { keys: "← →", does: "move the cursor; with Shift ten times as far" },
      { keys: "n, p", does: "next and previous incident" },
      { keys: "+ −", does: "zoom in and out; also Ctrl and the wheel" },
      { keys: ", .", does: "move the zoom left and right; also Shift and the wheel" },
      { keys: "0", does: "show everything" },
    ],
  },
];

const STORED = "training-health.keys";

/** Somebody whose screen reader needs the letters can switch all of these off. */
export const keysOn = signal(read());
export const keysShown = signal(false);

function read(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export function switchKeys(on: boolean): void {
  keysOn.value = on;
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}

/** True where a letter is text, or belongs to somebody else. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
    return true;
  const target = event.target;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      ["TEXTAREA", "SELECT"].includes(target.tagName) ||
      (target instanceof HTMLInputElement && target.type !== "checkbox"))
  );
}

/** A key that starts a pair is waited for this long. */
const PAIR_MS = 1500;

/** Listens until the returned function is called. */
export function watchKeys(goToRuns: () => void): () => void {
  let pairUntil = 0;
  const down = (event: KeyboardEvent) => {
    if (event.key === "Escape" && keysShown.peek()) keysShown.value = false;
    if (isTyping(event)) return;
    if (event.key === "?") {
      event.preventDefault();
      keysShown.value = !keysShown.peek();
      return;
    }
    if (!keysOn.peek()) return;
    if (event.key === "r" && event.timeStamp < pairUntil) {
      event.preventDefault();
      goToRuns();
    }
    pairUntil = event.key === "g" ? event.timeStamp + PAIR_MS : 0;
  };
  document.addEventListener("keydown", down);
  return () => document.removeEventListener("keydown", down);
}
