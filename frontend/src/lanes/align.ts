// Puts two runs on one axis: by step, by time since start, by epoch, or from the end.
import type { LaneRange } from "../api";
import type {
  AlignedClock,
  ComparedLane,
  LaneInfo,
  LanePoints,
  Maybe,
} from "../api-types";
import { decimal, integer, stopwatch } from "../format";
import type { Align } from "../url-state";
import { PIXELS_PER_TICK, type Range, ticks, timeTicks, wholeTicks } from "./scale";
import { type Track, type TrackSeries, trackOf } from "./track";

/** The line of y over x at a place, straight between its knots and beyond its ends. */
export function interpolate(
  xs: readonly number[],
  ys: readonly number[],
  x: number,
): number {
  const after = Math.min(xs.length - 1, Math.max(1, firstFrom(xs, x)));
  const [x0 = 0, x1 = x0] = [xs[after - 1], xs[after]];
  const [y0 = 0, y1 = y0] = [ys[after - 1], ys[after]];
  return x1 === x0 ? y1 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

/** The index of the first knot at or after a place, by halving. */
function firstFrom(xs: readonly number[], x: number): number {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) >= x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One line of a lane, as a lane of its own. */
export function laneOf(compared: Omit<ComparedLane, "in_a" | "in_b">): LaneInfo {
  return {
    id: compared.lane,
    title: compared.title,
    unit: compared.unit,
    series: [{ column: compared.column, title: compared.title }],
    limits: compared.limits,
  };
}

export function alignedTrack(
  lane: LaneInfo,
  points: LanePoints,
  align: Align,
  clock: AlignedClock,
): Track {
  if (align === "time") return trackOf(lane, points, "rel", clock.started_at);
  if (align === "end") return trackOf(lane, points, "rel", clock.ended_at);
  const track = trackOf(lane, points, "step", clock.started_at);
  if (align === "step") return track;
  const moved = (x: number) => interpolate(clock.epoch_steps, clock.epochs, x);
  return {
    ...track,
    x: track.x.map(moved),
    gaps: track.gaps.map((gap) => ({
      ...gap,
      from: moved(gap.from),
      to: moved(gap.to),
    })),
    notFinite: track.notFinite && {
      ...track.notFinite,
      from: moved(track.notFinite.from),
      to: moved(track.notFinite.to),
    },
  };
}

/** Tracks as the series of one; undefined where only another has a sample. */
export function joinTracks(...tracks: Track[]): Track {
  const x = [...new Set(tracks.flatMap((track) => track.x))].sort((a, b) => a - b);
  return {
    x,
    series: tracks.map((track) => spread(track, x)),
    // Where one run has no samples another one may have some: no hatch.
    gaps: [],
    notFinite: tracks.find((track) => track.notFinite)?.notFinite ?? null,
  };
}

/** How far a run is from A, wherever both have a value. */
export function differenceTrack(other: Track, a: Track): Track {
  const ofA = known(a);
  const first = ofA.xs[0] ?? Number.POSITIVE_INFINITY;
  const last = ofA.xs.at(-1) ?? Number.NEGATIVE_INFINITY;
  const apart = other.x.map((x, at) => {
    const value = other.series[0]?.mean[at] ?? null;
    if (value === null || x < first || x > last) return null;
    return value - interpolate(ofA.xs, ofA.ys, x);
  });
  return {
    x: other.x,
    series: [{ said: apart, mean: apart, min: apart, max: apart }],
    gaps: [],
    notFinite: null,
  };
}

function known(track: Track): { xs: number[]; ys: number[] } {
  const xs: number[] = [];
  const ys: number[] = [];
  track.x.forEach((x, at) => {
    const value = track.series[0]?.mean[at] ?? null;
    if (value === null) return;
    xs.push(x);
    ys.push(value);
  });
  return { xs, ys };
}

const NO_SERIES: TrackSeries = { said: [], mean: [], min: [], max: [] };

function spread(track: Track, xs: readonly number[]): TrackSeries {
  const own = track.series[0] ?? NO_SERIES;
  const result: TrackSeries = { said: [], mean: [], min: [], max: [] };
  let at = 0;
  for (const x of xs) {
    const mine = track.x[at] === x;
    for (const part of ["said", "mean", "min", "max"] as const) {
      result[part].push(mine ? (own[part][at] ?? null) : undefined);
    }
    if (mine) at += 1;
  }
  return result;
}

/** The last place of a run on the axis. */
export function endPlace(align: Align, clock: AlignedClock): number {
  if (align === "step") return clock.last_step;
  if (align === "epoch") return clock.epochs.at(-1) ?? 0;
  return align === "end" ? 0 : clock.ended_at - clock.started_at;
}

/** Room after the end of A, where B goes on. */
const ROOM_AFTER = 0.14;

/** All of A, and a little more. */
export function alignedRange(align: Align, a: AlignedClock): Range {
  if (align === "end") {
    const span = a.ended_at - a.started_at || 1;
    return [-span, span * ROOM_AFTER];
  }
  const end = endPlace(align, a);
  return [0, (end > 0 ? end : 1) * (1 + ROOM_AFTER)];
}

/** A zoom as the server counts it for one run. */
export function laneRange(
  zoom: Range,
  align: Align,
  clock: AlignedClock,
): Maybe<LaneRange> {
  const [from, to] = zoom;
  if (align === "step") return { axis: "step", from, to };
  if (align === "epoch") {
    const step = (epoch: number) => interpolate(clock.epochs, clock.epoch_steps, epoch);
    return { axis: "step", from: step(from), to: step(to) };
  }
  const zero = align === "time" ? clock.started_at : clock.ended_at;
  return { axis: "time", from: from + zero, to: to + zero };
}

export function alignedTicks(align: Align, range: Range, width: number): number[] {
  const wanted = Math.max(2, Math.floor(width / PIXELS_PER_TICK));
  if (align === "step") return wholeTicks(range, wanted);
  return align === "epoch" ? ticks(range, wanted) : timeTicks(range, wanted);
}

export function alignedTick(align: Align, x: number): string {
  if (align === "step") return integer(x);
  if (align === "epoch") return decimal(x);
  return x < 0 ? `−${stopwatch(-x)}` : stopwatch(x);
}

/** Where the cursor stands, in words. */
export function alignedPlace(align: Align, x: number): string {
  if (align === "step") return `step ${integer(x)}`;
  if (align === "epoch") return `epoch ${decimal(x)}`;
  if (align === "time") return stopwatch(x);
  return x < 0 ? `${stopwatch(-x)} before the end` : "after the end";
}
