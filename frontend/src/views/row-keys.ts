// The keys of the run list: / searches, j and k walk, x picks, c compares.
import { useEffect, useRef } from "preact/hooks";
import type { RunRow } from "../api-types";
import { isTyping, keysOn } from "../keys";
import { comparePlace, open } from "../state";
import { picks, togglePick } from "./run-picks";

interface Table {
  runs: readonly RunRow[];
  body: { current: HTMLElement | null };
  rowHeight: number;
}

export function useRowKeys(table: Table): void {
  const latest = useRef(table);
  latest.current = table;
  useEffect(() => {
    let at = -1;
    const down = (event: KeyboardEvent) => {
      if (!keysOn.peek() || isTyping(event)) return;
      const { runs } = latest.current;
      const run = runs[at];
      const act: Record<string, (() => void) | undefined> = {
        j: () => {
          at = Math.min(runs.length - 1, at + 1);
          walkTo(latest.current, at);
        },
        k: () => {
          at = Math.max(0, at - 1);
          walkTo(latest.current, at);
        },
        x: run?.monitored ? () => togglePick(run.name) : undefined,
        c: picks.peek().length > 0 ? compare : undefined,
        "/": search,
      };
      const chosen = act[event.key];
      if (!chosen) return;
      event.preventDefault();
      chosen();
    };
    document.addEventListener("keydown", down);
    return () => document.removeEventListener("keydown", down);
  }, []);
}

function compare(): void {
  const [a = "", ...others] = picks.peek();
  open(comparePlace(a, ...others));
}

function search(): void {
  document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
}

/** Brings the row into sight first: it may not be in the page yet. */
function walkTo({ body, rowHeight }: Table, at: number): void {
  const element = body.current;
  if (!element) return;
  const top = element.getBoundingClientRect().top + at * rowHeight;
  const room = 3 * rowHeight;
  if (top < room) window.scrollBy(0, top - room);
  else if (top + rowHeight > innerHeight - room) {
    window.scrollBy(0, top + rowHeight - innerHeight + room);
  }
  // The first row of the table is its head, and rows count from one.
  const focus = () =>
    element.querySelector<HTMLElement>(`tr[aria-rowindex="${at + 2}"] a`)?.focus();
  requestAnimationFrame(() => requestAnimationFrame(focus));
}
