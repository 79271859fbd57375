// Turns the answer of /compare into its type, as forgiving as api-decode.ts.
import { laneLimit, runRow, unit } from "./api-decode";
import type {
  AlignedClock,
  ComparedLane,
  ComparedPlace,
  ComparedSetting,
  ComparedSignal,
  Comparison,
  DifferenceKind,
  Maybe,
} from "./api-types";
import {
  isTrue,
  listOf,
  maybe,
  number,
  numberOr,
  oneOfOr,
  shaped,
  text,
  words,
} from "./json-fields";
import { ALIGNS } from "./url-state";

const KINDS: readonly DifferenceKind[] = [
  "grows",
  "falls",
  "level",
  "not_finite",
  "alike",
  "missing",
];

const anyPlace = maybe(
  shaped<ComparedPlace>({ x: numberOr(Number.NaN), step: number, wall_time: number }),
);

/** A place that is nowhere on the axis is none. */
function place(value: unknown): Maybe<ComparedPlace> {
  const given = anyPlace(value);
  return given && Number.isFinite(given.x) ? given : null;
}

const setting = shaped<ComparedSetting>({ name: words, a: text, b: text });

const clock = shaped<AlignedClock>({
  started_at: numberOr(0),
  ended_at: numberOr(0),
  last_step: numberOr(0),
  epoch_steps: listOf(numberOr(0)),
  epochs: listOf(numberOr(0)),
});

/** What lanes and signals have in common. */
const named = { id: words, title: words, unit, lane: words, column: words };

export const decodeComparison = shaped<Comparison>({
  a: runRow,
  b: maybe(runRow),
  picked: text,
  align: oneOfOr(ALIGNS, "step"),
  headline: words,
  summary: words,
  note: text,
  rule: words,
  first: text,
  signals: listOf(
    shaped<ComparedSignal>({
      ...named,
      kind: oneOfOr(KINDS, "missing"),
      what: words,
      a: words,
      b: words,
      from: words,
      a_value: number,
      b_value: number,
      strength: numberOr(0),
      from_start: isTrue,
      begins: place,
      ends: place,
    }),
  ),
  settings: listOf(setting),
  same_settings: listOf(setting),
  try_first: maybe(
    shaped<{ setting: string; why: string }>({ setting: words, why: words }),
  ),
  lanes: listOf(
    shaped<ComparedLane>({
      ...named,
      in_a: isTrue,
      in_b: isTrue,
      limits: listOf(laneLimit),
    }),
  ),
  clocks: maybe(shaped<{ a: AlignedClock; b: AlignedClock }>({ a: clock, b: clock })),
});
