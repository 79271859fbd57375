// The moments of a run that deserve a line through every lane, and the pins above them.
import type { Incident, Maybe, Moment, Story } from "../api-types";
import { isLive, type Shape, shapeOf, shapeOfSeverity } from "../run-tone";
import type { Axis } from "../url-state";
import { placeOf, type RunClock } from "./run-clock";
import { type Range, toPixels } from "./scale";

export interface TimelineMark {
  id: string;
  at: Moment;
  shape: Shape;
  kind: "incident" | "stop" | "difference";
  /** What stands in the pin: a number, or a word for the stop. */
  label: string;
  title: string;
}

const STOP_ID = "stop";

/** The mark of the stop stands for a critical incident at the same step. */
export function isTheStop(incident: Incident, stop: Maybe<Moment>): boolean {
  if (!stop || incident.severity !== "critical") return false;
  return incident.step !== null && incident.step === stop.step;
}

export function stopOf({ run, verdict }: Story): Maybe<Moment> {
  if (run.state === null || isLive(run.state)) return null;
  if (verdict?.stopped_at) return verdict.stopped_at;
  const time = run.ended_at ?? run.last_seen_at;
  return run.step === null && time === null
    ? null
    : { step: run.step, wall_time: time };
}

export function marksOf(story: Story): TimelineMark[] {
  const { run, verdict, incidents } = story;
  const stop = stopOf(story);
  const marks = incidents
    .filter((incident) => !isTheStop(incident, stop))
    .map(
      (incident, index): TimelineMark => ({
        id: incident.id,
        at: incident,
        shape: shapeOfSeverity(incident.severity),
        kind: "incident",
        label: String(index + 1),
        title: incident.message,
      }),
    );
  if (!stop) return marks;
  const finished = run.state === "finished";
  return [
    ...marks,
    {
      id: STOP_ID,
      at: stop,
      shape: finished ? "ended" : shapeOf(run.state, run.severity),
      kind: "stop",
      label: finished ? "Finished" : "Stopped",
      title: verdict?.headline ?? run.headline,
    },
  ];
}

export interface PlacedMark {
  mark: TimelineMark;
  x: number;
  /** Pixels from the left edge of the plots. */
  line: number;
  /** How many incidents the pin stands for. */
  count: number;
  /** Left edge of the pin, pushed aside where pins would overlap. */
  pin: number;
  width: number;
}

export function placeMarks(
  marks: readonly TimelineMark[],
  axis: Axis,
  clock: RunClock,
  range: Range,
  width: number,
): PlacedMark[] {
  const at = marks.map((mark) => ({ mark, x: placeOf(mark.at, axis, clock) }));
  return placePins(at, range, width);
}

/** Pins for marks whose place on the axis is known; others are left out. */
export function placePins(
  marks: readonly { mark: TimelineMark; x: Maybe<number> }[],
  range: Range,
  width: number,
): PlacedMark[] {
  const placed = marks.flatMap(({ mark, x }) => {
    if (x === null || x < range[0] || x > range[1]) return [];
    const line = toPixels(x, range, width);
    return [{ mark, x, line, count: 1, ...pinAt(mark, line) }];
  });
  placed.sort((a, b) => a.line - b.line);
  return pushedApart(thinned(placed), width);
}

const PIN_WIDTH = 24;
const PIN_SPACE = 3;
const WORD_PIN_WIDTHS = { incident: PIN_WIDTH, stop: 90, difference: 118 };
/** Pins may reach a little over the edge of the plots. */
const OVERHANG = 12;

function pinAt(mark: TimelineMark, line: number): { pin: number; width: number } {
  return { pin: line - PIN_WIDTH / 2, width: WORD_PIN_WIDTHS[mark.kind] };
}

/** More pins than this are a fence, not a list. */
const MOST_PINS = 12;

/** Joins the nearest neighbours until few enough are left. The stop stays alone. */
export function thinned(placed: readonly PlacedMark[]): PlacedMark[] {
  const pins = [...placed];
  while (pins.length > MOST_PINS) {
    let nearest = -1;
    let distance = Number.POSITIVE_INFINITY;
    for (const [index, pin] of pins.entries()) {
      const next = pins[index + 1];
      if (!next || next.mark.kind === "stop" || pin.mark.kind === "stop") continue;
      if (next.line - pin.line >= distance) continue;
      nearest = index;
      distance = next.line - pin.line;
    }
    const [left, right] = [pins[nearest], pins[nearest + 1]];
    if (!left || !right) return pins;
    pins.splice(nearest, 2, joined(left, right));
  }
  return pins;
}

function joined(left: PlacedMark, right: PlacedMark): PlacedMark {
  const worse = right.mark.shape === "failed" ? right.mark.shape : left.mark.shape;
  const count = left.count + right.count;
  const title = `${left.mark.title}; ${right.mark.title}`;
  return {
    ...left,
    count,
    mark: { ...left.mark, shape: worse, label: `${count}+`, title },
  };
}

/** First to the right of each other, then back from the right edge. */
function pushedApart(placed: PlacedMark[], width: number): PlacedMark[] {
  let free = Number.NEGATIVE_INFINITY;
  for (const item of placed) {
    item.pin = Math.max(item.pin, free);
    free = item.pin + item.width + PIN_SPACE;
  }
  let limit = width + OVERHANG;
  for (const item of placed.toReversed()) {
    item.pin = Math.min(item.pin, limit - item.width);
    limit = item.pin - PIN_SPACE;
  }
  return placed;
}
