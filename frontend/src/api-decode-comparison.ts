// Turns the answer of /compare into its type, as forgiving as api-decode.ts.
import { laneLimit, runRow, UNITS } from "./api-decode";
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
import { fields, isFields, list, number, oneOf, text, words } from "./json-fields";
import { ALIGNS } from "./url-state";

const KINDS: readonly DifferenceKind[] = [
  "grows",
  "falls",
  "level",
  "not_finite",
  "alike",
  "missing",
];

function place(value: unknown): Maybe<ComparedPlace> {
  if (!isFields(value)) return null;
  const x = number(value.x);
  if (x === null || !Number.isFinite(x)) return null;
  return { x, step: number(value.step), wall_time: number(value.wall_time) };
}

function signal(value: unknown): ComparedSignal {
  const given = fields(value);
  return {
    id: words(given.id),
    title: words(given.title),
    unit: oneOf(UNITS, given.unit) ?? "number",
    lane: words(given.lane),
    column: words(given.column),
    kind: oneOf(KINDS, given.kind) ?? "missing",
    what: words(given.what),
    a: words(given.a),
    b: words(given.b),
    from: words(given.from),
    a_value: number(given.a_value),
    b_value: number(given.b_value),
    strength: number(given.strength) ?? 0,
    from_start: given.from_start === true,
    begins: place(given.begins),
    ends: place(given.ends),
  };
}

function setting(value: unknown): ComparedSetting {
  const given = fields(value);
  return { name: words(given.name), a: text(given.a), b: text(given.b) };
}

function lane(value: unknown): ComparedLane {
  const given = fields(value);
  return {
    id: words(given.id),
    title: words(given.title),
    unit: oneOf(UNITS, given.unit) ?? "number",
    lane: words(given.lane),
    column: words(given.column),
    in_a: given.in_a === true,
    in_b: given.in_b === true,
    limits: list(given.limits, laneLimit),
  };
}

function clock(value: unknown): AlignedClock {
  const given = fields(value);
  return {
    started_at: number(given.started_at) ?? 0,
    ended_at: number(given.ended_at) ?? 0,
    last_step: number(given.last_step) ?? 0,
    epoch_steps: list(given.epoch_steps, (item) => number(item) ?? 0),
    epochs: list(given.epochs, (item) => number(item) ?? 0),
  };
}

export function decodeComparison(value: unknown): Comparison {
  const given = fields(value);
  const tip = given.try_first;
  const clocks = given.clocks;
  return {
    a: runRow(given.a),
    b: isFields(given.b) ? runRow(given.b) : null,
    picked: text(given.picked),
    align: oneOf(ALIGNS, given.align) ?? "step",
    headline: words(given.headline),
    summary: words(given.summary),
    note: text(given.note),
    rule: words(given.rule),
    first: text(given.first),
    signals: list(given.signals, signal),
    settings: list(given.settings, setting),
    same_settings: list(given.same_settings, setting),
    try_first: isFields(tip)
      ? { setting: words(tip.setting), why: words(tip.why) }
      : null,
    lanes: list(given.lanes, lane),
    clocks: isFields(clocks) ? { a: clock(clocks.a), b: clock(clocks.b) } : null,
  };
}
