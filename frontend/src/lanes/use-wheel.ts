// Ctrl and the wheel zoom at the pointer; Shift, or a wheel that goes sideways, moves.
import { useEffect, useRef } from "preact/hooks";
import type { Maybe } from "../api-types";
import { AXIS_WIDTH, RIGHT_MARGIN } from "./lane-plot";
import { type Range, withinFull, zoomed } from "./scale";

interface Targets {
  range: Range;
  full: Range;
  onZoom(range: Maybe<Range>): void;
}

/** A notch of the wheel is about 100 pixels; that zooms by a fifth. */
const ZOOM_PER_PIXEL = 0.002;

/** Without a modifier the wheel scrolls the page, as everywhere. */
export function useWheel(
  element: { current: HTMLElement | null },
  targets: Targets,
): void {
  const latest = useRef(targets);
  latest.current = targets;
  useEffect(() => {
    const watched = element.current;
    if (!watched) return;
    const turn = (event: WheelEvent) => {
      const next = nextRange(event, watched, latest.current);
      if (next === undefined) return;
      event.preventDefault();
      latest.current.onZoom(next);
    };
    // Not passive: the page must not zoom or scroll along.
    watched.addEventListener("wheel", turn, { passive: false });
    return () => watched.removeEventListener("wheel", turn);
  }, [element]);
}

function nextRange(
  event: WheelEvent,
  watched: HTMLElement,
  { range, full }: Targets,
): Maybe<Range> | undefined {
  const lane = watched.querySelector(".lane-plot")?.getBoundingClientRect();
  if (!lane) return undefined;
  const width = lane.width - AXIS_WIDTH - RIGHT_MARGIN;
  const span = range[1] - range[0];
  if (event.ctrlKey) {
    const share = Math.max(
      0,
      Math.min(1, (event.clientX - lane.left - AXIS_WIDTH) / width),
    );
    const factor = Math.exp(event.deltaY * ZOOM_PER_PIXEL);
    return zoomed(range, factor, range[0] + share * span, full);
  }
  const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
  if (Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY))
    return undefined;
  const moved = (sideways / width) * span;
  return withinFull([range[0] + moved, range[1] + moved], full);
}
