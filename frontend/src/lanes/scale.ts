// The arithmetic of the axes: ranges, ticks, zoom, and where a value lies in pixels.
import type { LaneLimit, Maybe, Unit } from "../api-types";

export type Range = readonly [number, number];

export function toPixels(x: number, range: Range, width: number): number {
  return ((x - range[0]) / (range[1] - range[0])) * width;
}

/** Room after the end, so that the mark of the stop fits. */
export const ROOM_AFTER_STOP = 0.09;

export function fullRange(start: number, end: number, live: boolean): Range {
  const span = end > start ? end - start : 1;
  return [start, start + span * (live ? 1 : 1 + ROOM_AFTER_STOP)];
}

export function withinFull(range: Range, full: Range): Range {
  const span = Math.min(range[1] - range[0], full[1] - full[0]);
  const start = Math.min(Math.max(range[0], full[0]), full[1] - span);
  return [start, start + span];
}

/** A part of the whole around a place. "Show" uses 32%: 16% to either side. */
export function around(x: number, share: number, full: Range): Range {
  const half = ((full[1] - full[0]) * share) / 2;
  return withinFull([x - half, x + half], full);
}

/** The end of a run, where most of the answers are. */
export function lastPart(full: Range): Range {
  return [full[1] - (full[1] - full[0]) * 0.3, full[1]];
}

/** Zooms by a factor and keeps the given place where it is on the screen. */
export function zoomed(
  range: Range,
  factor: number,
  x: number,
  full: Range,
): Maybe<Range> {
  const next: Range = [x - (x - range[0]) * factor, x + (range[1] - x) * factor];
  if (next[1] - next[0] >= full[1] - full[0]) return null;
  return withinFull(next, full);
}

/** Ticks nearer than this on a horizontal axis would touch. */
export const PIXELS_PER_TICK = 110;

const TIME_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
  86400,
];

function multiples(range: Range, step: number): number[] {
  const first = Math.ceil(range[0] / step - 1e-9);
  const last = Math.floor(range[1] / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    // Times ten, rounded, over ten: 3 * 0.1 is 0.30000000000000004.
    Number(((first + i) * step).toPrecision(12)),
  );
}

/** 1, 2 or 5 times a power of ten. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1) * power;
}

/** At least two, because one tick alone says nothing about the scale. */
export function ticks(range: Range, wanted: number): number[] {
  const rough = (range[1] - range[0]) / Math.max(1, wanted);
  if (!(rough > 0)) return [];
  const found = multiples(range, niceStep(rough));
  return found.length > 1 ? found : multiples(range, niceStep(rough / 2));
}

/** Steps are whole: there is no step 0.5. */
export function wholeTicks(range: Range, wanted: number): number[] {
  const rough = (range[1] - range[0]) / Math.max(1, wanted);
  return rough > 0 ? multiples(range, Math.max(1, niceStep(rough))) : [];
}

/** Ticks at times people use. `offset` moves them to whole hours of the local clock. */
export function timeTicks(range: Range, wanted: number, offset = 0): number[] {
  const rough = (range[1] - range[0]) / Math.max(1, wanted);
  const days = Math.ceil(rough / 86400) * 86400;
  const step = TIME_STEPS.find((candidate) => candidate >= rough) ?? days;
  const moved: Range = [range[0] - offset, range[1] - offset];
  return multiples(moved, step).map((tick) => tick + offset);
}

/** Memory comes in powers of two: 8 and 16 GiB, not 5 and 10. */
export function byteTicks(range: Range, wanted: number): number[] {
  const rough = (range[1] - range[0]) / Math.max(1, wanted);
  return rough > 0 ? multiples(range, 2 ** Math.ceil(Math.log2(rough))) : [];
}

/** The powers of ten in a range, thinned out evenly to at most `most`. */
export function powerTicks(splits: readonly number[], most: number): Maybe<number>[] {
  const exponent = (split: number) => Math.log10(split);
  const powers = splits.filter((split) => Number.isInteger(exponent(split)));
  const apart = Math.ceil(powers.length / Math.max(1, most));
  return splits.map((split) =>
    Number.isInteger(exponent(split)) && exponent(split) % apart === 0 ? split : null,
  );
}

/** A limit this many times above the data would press the line to the floor. */
const LIMIT_IN_SIGHT = 4;

export function limitsInSight(
  limits: readonly LaneLimit[],
  highest: Maybe<number>,
): LaneLimit[] {
  return limits.filter(
    (limit) => highest !== null && limit.value <= highest * LIMIT_IN_SIGHT,
  );
}

/** Values over more than three powers of ten need a logarithmic scale. */
const LOG_FROM = 1000;

export function needsLog(
  unit: Unit,
  lowest: Maybe<number>,
  highest: Maybe<number>,
): boolean {
  if (unit !== "number" || lowest === null || highest === null) return false;
  return lowest > 0 && highest / lowest > LOG_FROM;
}

/** Nothing at all must not look like something: the axis has a unit's worth of room. */
function leastTop(unit: Unit): number {
  return unit === "bytes" ? 1024 : unit === "count" ? 0.1 : Number.MIN_VALUE;
}

/** The y range for the data in sight. */
export function yRange(
  unit: Unit,
  lowest: Maybe<number>,
  highest: Maybe<number>,
  limits: readonly LaneLimit[],
  log: boolean,
  fit = false,
): [number, number] {
  if (unit === "fraction" && (lowest ?? 0) >= 0) {
    return [0, Math.max(1, highest ?? 1)];
  }
  if (lowest === null || highest === null) return log ? [0.1, 10] : [0, 1];
  if (log) return [lowest * 0.6, highest * 1.6];
  if (unit !== "number" && lowest >= 0 && !fit) {
    const inSight = limitsInSight(limits, highest).map((limit) => limit.value);
    // A limit out of sight is written at the top, so the line must stay below it.
    const room = inSight.length < limits.length ? 1.4 : 1.08;
    return [0, Math.max(highest, ...inSight, leastTop(unit)) * room];
  }
  const room = (highest - lowest || Math.abs(highest) || 1) * 0.1;
  // A loss that is never negative must not look as if it could be.
  const floor = lowest >= 0 ? Math.max(0, lowest - room) : lowest - room;
  return [floor, highest + room];
}
