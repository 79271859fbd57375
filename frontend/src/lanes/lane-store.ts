// Fetches the points of a run's lanes: all of them coarsely, the zoomed part finely.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { type LaneRange, laneSource } from "../api";
import type { LanePoints, Maybe } from "../api-types";
import { createFeed, type Feed } from "../feed";

const WHOLE_BUCKETS = 800;
/** Half of them lie outside the zoom, so that a small move needs no new question. */
const DETAIL_BUCKETS = 1600;
/** While the zoom moves nobody reads, and each stop on the way would be a question. */
const RESTS_AFTER_MS = 150;
/** Fewer points than this in sight, and the server may know more. */
const ENOUGH_POINTS = 500;

export interface LaneStore {
  points(lane: string): ReadonlySignal<Maybe<LanePoints>>;
  failed(lane: string): boolean;
  /** Asks for every lane again; what has not changed costs nothing. */
  refresh(lanes: readonly string[]): void;
  zoom(lanes: readonly string[], range: Maybe<LaneRange>): void;
}

export function createLaneStore(run: string): LaneStore {
  const whole = new Map<string, Feed<LanePoints>>();
  const details = signal<ReadonlyMap<string, Feed<LanePoints>>>(new Map());
  const shown = new Map<string, ReadonlySignal<Maybe<LanePoints>>>();
  let zoomed: Maybe<LaneRange> = null;
  /** What the details reach over. */
  let reached: Maybe<LaneRange> = null;
  let resting: ReturnType<typeof setTimeout> | undefined;

  function feedOf(lane: string): Feed<LanePoints> {
    const known = whole.get(lane);
    if (known) return known;
    const feed = createFeed(laneSource(run, lane, WHOLE_BUCKETS, null));
    whole.set(lane, feed);
    return feed;
  }

  /** Asks for the zoomed part of a lane, if the whole answer is too coarse for it. */
  function loadDetail(lane: string): void {
    if (!zoomed || details.peek().has(lane)) return;
    if (!wantsDetail(feedOf(lane).data.peek(), zoomed)) return;
    const range = widened(zoomed);
    reached = range;
    const feed = createFeed(laneSource(run, lane, DETAIL_BUCKETS, range));
    details.value = new Map(details.peek()).set(lane, feed);
    void feed.refresh();
  }

  function forget(): void {
    reached = null;
    if (details.peek().size > 0) details.value = new Map();
  }

  async function load(lane: string): Promise<void> {
    void details.peek().get(lane)?.refresh();
    await feedOf(lane).refresh();
    loadDetail(lane);
  }

  return {
    points(lane) {
      const known = shown.get(lane);
      if (known) return known;
      const feed = feedOf(lane);
      const points = computed(
        () => details.value.get(lane)?.data.value ?? feed.data.value,
      );
      shown.set(lane, points);
      return points;
    },
    failed: (lane) => feedOf(lane).error.value !== null,
    refresh(lanes) {
      for (const lane of lanes) void load(lane);
    },
    zoom(lanes, range) {
      zoomed = range;
      clearTimeout(resting);
      // What is in sight must be drawn at once: finely if it is here, else coarsely.
      if (!covers(reached, range)) forget();
      if (!range) return;
      resting = setTimeout(() => {
        const coarse = lanes.some((lane) =>
          wantsDetail(details.peek().get(lane)?.data.peek() ?? null, range),
        );
        batch(() => {
          if (coarse) forget();
          for (const lane of lanes) loadDetail(lane);
        });
      }, RESTS_AFTER_MS);
    },
  };
}

/** Whether the coarse answer has joined samples that the screen has room for. */
export function wantsDetail(points: Maybe<LanePoints>, range: LaneRange): boolean {
  if (!points?.bucketed) return false;
  const places: readonly Maybe<number>[] =
    range.axis === "time" ? points.time : points.step;
  const inSight = places.filter(
    (place) => place !== null && place >= range.from && place <= range.to,
  );
  return inSight.length < ENOUGH_POINTS;
}

function covers(outer: Maybe<LaneRange>, inner: Maybe<LaneRange>): boolean {
  if (!outer || !inner || outer.axis !== inner.axis) return false;
  return outer.from <= inner.from && inner.to <= outer.to;
}

export function widened({ axis, from, to }: LaneRange): LaneRange {
  const half = (to - from) / 2;
  return { axis, from: from - half, to: to + half };
}
