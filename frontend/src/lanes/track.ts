// The points of one lane, made ready for a chart: ascending x, numbers or gaps.
import type { LaneInfo, LanePoints, Maybe, SeriesPoints } from "../api-types";
import type { Axis } from "../url-state";
import type { LaneSummary } from "../words";

/** Null is a gap; undefined a place where only another series has a sample. */
type Values = (Maybe<number> | undefined)[];
/** The series of a lane as they were answered; one may be missing. */
type Given = readonly (SeriesPoints | undefined)[];

export interface TrackSeries {
  /** What was measured, NaN included; for words. */
  said: Values;
  /** Finite numbers or null; for drawing. */
  mean: Values;
  min: Values;
  max: Values;
}

export interface Stretch {
  from: number;
  to: number;
}

export interface Track {
  x: number[];
  series: TrackSeries[];
  gaps: (Stretch & { seconds: number })[];
  /** From the first to the last number that was not finite. */
  notFinite: Maybe<Stretch & { word: string }>;
}

export function trackOf(
  lane: LaneInfo,
  points: LanePoints,
  axis: Axis,
  startedAt: Maybe<number>,
): Track {
  const given: Given = lane.series.map((series) =>
    points.series.find((candidate) => candidate.column === series.column),
  );
  const rows = rowsOnAxis(given, points, axis, startedAt);
  const x = rows.map((row) => row.x);
  return {
    x,
    series: given.map((series) => seriesOf(series, rows)),
    gaps: gapsIn(given, rows, points.time),
    notFinite: notFiniteIn(given, rows),
  };
}

/** One x and the samples that lie on it. */
interface Row {
  x: number;
  samples: number[];
}

/** A chart wants each x once and ascending. Times are; steps repeat and, after a restart, fall. */
function rowsOnAxis(
  given: Given,
  points: LanePoints,
  axis: Axis,
  startedAt: Maybe<number>,
): Row[] {
  const rows: Row[] = [];
  let pause: Maybe<number> = null;
  points.time.forEach((time, sample) => {
    const x = placeOnAxis(points, sample, time, axis, startedAt);
    if (x === null || !Number.isFinite(x)) return;
    // Steps that ran again: the later run of them is the one that counts.
    while ((rows.at(-1)?.x ?? Number.NEGATIVE_INFINITY) > x) rows.pop();
    const last = rows.at(-1);
    if (last?.x !== x) {
      // A pause at the step before: the gap lies between the two steps.
      if (last && pause !== null) rows.push({ x: (last.x + x) / 2, samples: [pause] });
      pause = null;
      rows.push({ x, samples: [sample] });
    } else if (allNull(given, sample)) pause = sample;
    else last.samples.push(sample);
  });
  return rows;
}

function placeOnAxis(
  points: LanePoints,
  sample: number,
  time: number,
  axis: Axis,
  startedAt: Maybe<number>,
): Maybe<number> {
  if (axis === "step") return points.step[sample] ?? null;
  return axis === "wall" ? time : time - (startedAt ?? points.time[0] ?? 0);
}

function seriesOf(series: SeriesPoints | undefined, rows: readonly Row[]): TrackSeries {
  const at = (values: Values | undefined, row: Row): number[] =>
    row.samples.flatMap((sample) => values?.[sample] ?? []);
  const finite = (values: number[]): number[] => values.filter(Number.isFinite);
  const track: TrackSeries = { said: [], mean: [], min: [], max: [] };
  for (const row of rows) {
    const means = at(series?.mean, row);
    const lows = finite(at(series?.min, row));
    const highs = finite(at(series?.max, row));
    track.said.push(means.at(-1) ?? null);
    track.mean.push(finite(means).at(-1) ?? null);
    track.min.push(lows.length === 0 ? null : Math.min(...lows));
    track.max.push(highs.length === 0 ? null : Math.max(...highs));
  }
  return track;
}

function allNull(given: Given, sample: number): boolean {
  return given.every((series) => (series?.mean[sample] ?? null) === null);
}

function gapsIn(
  given: Given,
  rows: readonly Row[],
  times: readonly number[],
): Track["gaps"] {
  const gaps: Track["gaps"] = [];
  let before: Row | null = null;
  let inGap = false;
  for (const row of rows) {
    if (row.samples.every((sample) => allNull(given, sample))) {
      inGap = true;
      continue;
    }
    if (inGap && before) {
      const start = times[before.samples.at(-1) ?? 0] ?? 0;
      const end = times[row.samples[0] ?? 0] ?? start;
      gaps.push({ from: before.x, to: row.x, seconds: end - start });
    }
    before = row;
    inGap = false;
  }
  return gaps;
}

function notFiniteIn(given: Given, rows: readonly Row[]): Track["notFinite"] {
  let found: Track["notFinite"] = null;
  for (const row of rows) {
    const bad = row.samples
      .flatMap((sample) =>
        given.flatMap((series) => [series?.mean[sample], series?.max[sample]]),
      )
      .find((value) => typeof value === "number" && !Number.isFinite(value));
    if (bad === undefined || bad === null) continue;
    found ??= { from: row.x, to: row.x, word: Number.isNaN(bad) ? "NaN" : "Inf" };
    found.to = row.x;
  }
  return found;
}

/** The index whose x is nearest; -1 in an empty track. */
export function nearest(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  const left = xs[low - 1];
  const right = xs[low];
  if (right === undefined) return -1;
  return left !== undefined && x - left < right - x ? low - 1 : low;
}

/** What a series said at a place, or last. */
export function valueAt(track: Track, series: number, x: Maybe<number>): Maybe<number> {
  const said = track.series[series]?.said ?? [];
  if (x === null) return said.findLast((value) => (value ?? null) !== null) ?? null;
  return said[nearest(track.x, x)] ?? null;
}

/** The index of the last sample of a series up to a place; -1 if there is none. */
export function lastSeen(track: Track, series: number, until: number): number {
  const said = track.series[series]?.said ?? [];
  return said.findLastIndex(
    (value, index) => (value ?? null) !== null && (track.x[index] ?? 0) <= until,
  );
}

/** When anything of a lane was measured last. */
export function lastMeasured(points: Maybe<LanePoints>): Maybe<number> {
  const at = points?.time.findLastIndex((_, index) =>
    points.series.some((series) => (series.mean[index] ?? null) !== null),
  );
  return points?.time[at ?? -1] ?? null;
}

/**
 * Samples with a gap on either side: no line passes through them, so they need a dot.
 * Undefined is no gap, but a place where only another series has a sample.
 */
export function isolated(values: readonly (Maybe<number> | undefined)[]): number[] {
  const own = values.flatMap((value, index) => (value === undefined ? [] : [index]));
  const missing = (at: number) => (values[own[at] ?? -1] ?? null) === null;
  return own.filter((_, at) => !missing(at) && missing(at - 1) && missing(at + 1));
}

export function summaryOf(track: Track): LaneSummary {
  const drawn = track.series[0];
  const known = (values: Values = []) =>
    values.filter((value) => value !== null && value !== undefined);
  const fold = (values: number[], pick: (a: number, b: number) => number) =>
    values.length === 0 ? null : values.reduce((a, b) => pick(a, b));
  return {
    lowest: fold(known(drawn?.min), Math.min),
    highest: fold(known(drawn?.max), Math.max),
    last: valueAt(track, 0, null),
  };
}
