// Translates between the three ways to say where in a run something happened.
import type { LanePoints, Maybe, Moment } from "../api-types";
import type { Axis } from "../url-state";

/** Times and the steps reached at them, as far as they are known. */
export interface RunClock {
  startedAt: Maybe<number>;
  times: readonly number[];
  steps: readonly number[];
}

export function runClock(
  startedAt: Maybe<number>,
  points: Maybe<LanePoints>,
): RunClock {
  const times: number[] = [];
  const steps: number[] = [];
  points?.time.forEach((time, index) => {
    const step = points.step[index] ?? null;
    if (step === null) return;
    times.push(time);
    steps.push(step);
  });
  return { startedAt, times, steps };
}

/** Where a moment lies on an axis; null if nobody can tell. */
export function placeOf(moment: Moment, axis: Axis, clock: RunClock): Maybe<number> {
  if (axis === "step") {
    if (moment.step !== null) return moment.step;
    return moment.wall_time === null ? null : stepAt(moment.wall_time, clock);
  }
  const time =
    moment.wall_time ?? (moment.step === null ? null : timeAt(moment.step, clock));
  if (time === null) return null;
  if (axis === "wall") return time;
  return clock.startedAt === null ? null : time - clock.startedAt;
}

/** Keeps a place when the axis is switched. */
export function movePlace(
  x: number,
  from: Axis,
  to: Axis,
  clock: RunClock,
): Maybe<number> {
  if (from === to) return x;
  if (from === "step") return placeOf({ step: x, wall_time: null }, to, clock);
  const time = from === "wall" ? x : x + (clock.startedAt ?? 0);
  return placeOf({ step: null, wall_time: time }, to, clock);
}

function stepAt(time: number, { times, steps }: RunClock): Maybe<number> {
  const after = times.findIndex((candidate) => candidate >= time);
  return between(times, steps, after, time);
}

function timeAt(step: number, { times, steps }: RunClock): Maybe<number> {
  // From the end: a step that ran again after a restart means its last time.
  const before = steps.findLastIndex((candidate) => candidate < step);
  return between(steps, times, before < 0 ? 0 : before + 1, step);
}

/** The value of `to` where `from` is `x`, on the straight line that ends at `index`. */
function between(
  from: readonly number[],
  to: readonly number[],
  index: number,
  x: number,
): Maybe<number> {
  const lastFrom = from.at(-1);
  const lastTo = to.at(-1);
  if (lastFrom === undefined || lastTo === undefined) return null;
  const [x1, y1] = [from[index] ?? lastFrom, to[index] ?? lastTo];
  const [x0, y0] = [from[index - 1], to[index - 1]];
  if (index <= 0 || x0 === undefined || y0 === undefined || x1 === x0) return y1;
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}
