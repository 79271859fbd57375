// A live run while zoomed: at its end the view follows it, elsewhere it stays and says so.
import { useEffect, useRef } from "preact/hooks";
import type { Maybe, Story } from "../api-types";
import { isLive } from "../run-tone";
import { adjust, nav } from "../state";
import { type Range, ROOM_AFTER_STOP } from "./scale";
import type { Ranges } from "./use-ranges";

/** Nearer to the end than this share of what is in sight counts as at the end. */
const NEAR_END = 0.02;
/** Less is not worth a button. */
const LEAST_SECONDS = 1;

/** As much as before, moved to where the data ends; of what is after a stop, little. */
export function atEnd(zoom: Range, full: Range, end: number): Range {
  const span = Math.min(zoom[1] - zoom[0], full[1] - full[0]);
  const right = Math.min(full[1], end + span * ROOM_AFTER_STOP);
  return [right - span, right];
}

export function isAtEnd(zoom: Range, full: Range): boolean {
  return full[1] - zoom[1] <= (zoom[1] - zoom[0]) * NEAR_END;
}

export interface Follow {
  /** Seconds that came since the view was zoomed; null if there is nothing to say. */
  newSeconds: Maybe<number>;
  toEnd(): void;
}

/** What was known when the zoom was chosen. */
interface Seen {
  zoom: Maybe<Range>;
  axis: string;
  full: Range;
  at: number;
  live: boolean;
}

export function useFollow(story: Story, { axis, full, end, range }: Ranges): Follow {
  const zoom = nav.value.range;
  const live = isLive(story.run.state);
  const at = story.run.last_seen_at ?? 0;
  const seen = useRef<Seen>({ zoom: null, axis, full, at, live });
  if (seen.current.zoom !== zoom || seen.current.axis !== axis)
    seen.current = { zoom, axis, full, at, live };
  const before = seen.current.full;
  // Also to the mark of its stop, if it has just ended.
  const follows = zoom !== null && seen.current.live && isAtEnd(zoom, before);
  const toEnd = () => adjust({ axis, range: atEnd(range, full, end) });
  useEffect(() => {
    if (follows && full[1] > before[1]) toEnd();
  }, [follows, full[1], before[1]]);
  const seconds = at - seen.current.at;
  const says = zoom !== null && live && !follows && seconds >= LEAST_SECONDS;
  return { newSeconds: says ? seconds : null, toEnd };
}
