// What the keys do while the timeline has the focus.
import type { Signal } from "@preact/signals";
import type { Maybe } from "../api-types";
import type { PlacedMark } from "./marks";
import { type Range, withinFull, zoomed } from "./scale";

export interface KeyTargets {
  range: Range;
  full: Range;
  cursor: Signal<Maybe<number>>;
  marks: readonly PlacedMark[];
  selected: string;
  onZoom(range: Maybe<Range>): void;
  onSelect(id: string): void;
}

/** One arrow press moves this share of what is in sight; with Shift ten times that. */
const CURSOR_SHARE = 1 / 200;

/** One press moves the zoom by this share of what is in sight. */
const PAN_SHARE = 0.2;

export function timelineKey(event: KeyboardEvent, targets: KeyTargets): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = actionOf(event, targets);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf(event: KeyboardEvent, targets: KeyTargets): (() => void) | null {
  const { range, full, cursor, onZoom } = targets;
  const span = range[1] - range[0];
  const at = cursor.peek() ?? range[1];
  const pan = span * PAN_SHARE;
  const stride = span * CURSOR_SHARE * (event.shiftKey ? 10 : 1);
  const move = (by: number) => () => {
    cursor.value = Math.max(range[0], Math.min(range[1], at + by));
  };
  switch (event.key) {
    case "ArrowLeft":
      return move(-stride);
    case "ArrowRight":
      return move(stride);
    case "+":
    case "=":
      return () => onZoom(zoomed(range, 0.5, at, full));
    case "-":
      return () => onZoom(zoomed(range, 2, at, full));
    case ",":
      return () => onZoom(withinFull([range[0] - pan, range[1] - pan], full));
    case ".":
      return () => onZoom(withinFull([range[0] + pan, range[1] + pan], full));
    case "0":
      return () => onZoom(null);
    case "n":
      return () => jump(targets, 1);
    case "p":
      return () => jump(targets, -1);
    default:
      return null;
  }
}

function jump({ marks, selected, cursor, onSelect }: KeyTargets, by: 1 | -1): void {
  const now = marks.findIndex((item) => item.mark.id === selected);
  const start = by === 1 ? 0 : marks.length - 1;
  const next = marks[now < 0 ? start : now + by];
  if (!next) return;
  cursor.value = next.x;
  onSelect(next.mark.id);
}
