// The axis of the timeline, the whole range on it and the part in sight.
import type { LanePoints, Maybe, Story } from "../api-types";
import { isLive } from "../run-tone";
import { nav } from "../state";
import type { Axis } from "../url-state";
import type { LaneStore } from "./lane-store";
import { stopOf } from "./marks";
import { placeOf, type RunClock, runClock } from "./run-clock";
import { fullRange, type Range, withinFull } from "./scale";

export interface Ranges {
  axis: Axis;
  clock: RunClock;
  full: Range;
  /** Where the run ended, or is now. */
  end: number;
  /** The zoom if there is one, else everything. */
  range: Range;
}

export function useRanges(story: Story, store: LaneStore): Ranges {
  const first = story.lanes[0];
  const points = first ? store.points(first.id).value : null;
  return rangesOf(story, points, nav.value.axis, nav.value.range);
}

export function rangesOf(
  story: Story,
  points: Maybe<LanePoints>,
  chosen: Maybe<Axis>,
  zoom: Maybe<Range>,
): Ranges {
  const { run } = story;
  const clock = runClock(run.started_at ?? points?.time[0] ?? null, points);
  const wanted = chosen ?? suitedAxis(story);
  // A run that never reached a step has nothing to show on the axis of steps.
  const axis = wanted === "step" && (run.step ?? 0) <= 0 ? "rel" : wanted;
  const end = endOf(story, clock, axis);
  const full = fullRange(startOf(story, axis), end, isLive(run.state));
  const inside = zoom && zoom[0] < full[1] && zoom[1] > full[0];
  return { axis, clock, full, end, range: inside ? withinFull(zoom, full) : full };
}

/** A run that stood still at a step has its story in time: steps would hide it. */
function suitedAxis({ run, incidents }: Story): Axis {
  const stood = incidents.some(
    ({ kind, step }) => kind === "stalled" && step === run.step,
  );
  return stood ? "rel" : "step";
}

function startOf({ run, attempts }: Story, axis: Axis): number {
  if (axis === "wall") return run.started_at ?? 0;
  if (axis === "rel") return 0;
  const steps = attempts.flatMap((attempt) => attempt.first_step ?? []);
  return steps.length === 0 ? 0 : Math.min(...steps);
}

/** The stop, or the last sign of life, whichever is later. */
function endOf(story: Story, clock: RunClock, axis: Axis): number {
  const { run } = story;
  const stop = stopOf(story);
  const ends = [
    stop && placeOf(stop, axis, clock),
    placeOf({ step: run.step, wall_time: run.last_seen_at }, axis, clock),
    axis === "step"
      ? null
      : placeOf({ step: null, wall_time: clock.times.at(-1) ?? null }, axis, clock),
  ].filter((end) => end !== null);
  return Math.max(startOf(story, axis), ...ends);
}
