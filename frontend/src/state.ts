// What the whole tab knows: where it is, how it looks, and the run list.
import { signal } from "@preact/signals";
import { runListSource } from "./api";
import { createFeed } from "./feed";
import * as host from "./host";
import { watchKeys } from "./keys";
import { report } from "./report";
import { type Nav, START } from "./url-state";

export const nav = signal<Nav>(START);
export const dark = signal(false);
export const visible = signal(true);
export const reloads = signal(0);

/** The lane, and the place in it, that a line of evidence has just pointed at. */
export const lit = signal<{ lane: string; x: number | null } | null>(null);

export const runList = createFeed(runListSource());

export function connectToHost(): void {
  watchKeys(() => open({ view: "runs" }));
  host.nameThisPage();
  nav.value = firstNav(host.currentNav());
  host.watchTheme((isDark) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    dark.value = isDark;
  });
  host.watchVisible((isVisible) => {
    visible.value = isVisible;
  });
  host.watchReloads(() => {
    reloads.value += 1;
  });
  host.watchAddress(
    () => nav.peek(),
    (next) => {
      nav.value = next;
    },
  );
}

/** A saved report opens on what it is about. */
function firstNav(asked: Nav): Nav {
  const [first, ...others] = report?.runs ?? [];
  if (first === undefined || asked.view !== "runs") return asked;
  return {
    ...asked,
    ...(others.length === 0 ? runPlace(first) : comparePlace(first, ...others)),
  };
}

/** Goes to another view: Back leads here again. */
export function open(change: Partial<Nav>): void {
  clearTimeout(writing);
  // The view we leave keeps its filters for Back.
  host.writeAddress(nav.peek(), "replace");
  nav.value = { ...nav.peek(), ...change };
  lit.value = null;
  host.writeAddress(nav.peek(), "push");
  window.scrollTo(0, 0);
}

export function openRun(name: string): void {
  open(runPlace(name));
}

export function runPlace(name: string): Partial<Nav> {
  return { view: "run", run: name, axis: null, range: null, incident: "" };
}

/** Without a second run the server picks a healthy one. */
export function comparePlace(a: string, b = "", ...more: string[]): Partial<Nav> {
  return { view: "compare", a, b, more, range: null };
}

// Browsers refuse to rewrite the address many times a second, as typing would.
const WRITE_AFTER_MS = 300;
let writing: ReturnType<typeof setTimeout> | undefined;

/** Changes how the present view looks, without a new entry in the history. */
export function adjust(change: Partial<Nav>): void {
  nav.value = { ...nav.peek(), ...change };
  clearTimeout(writing);
  writing = setTimeout(() => host.writeAddress(nav.peek(), "replace"), WRITE_AFTER_MS);
}
