// The short texts at the ticks of the axes.
import type { Unit } from "../api-types";
import {
  bytes,
  clockTime,
  clockTimeWithSeconds,
  integer,
  quantity,
  stopwatch,
} from "../format";
import type { Axis } from "../url-state";
import type { Range } from "./scale";

/** As a value in a sentence, but without a decimal nobody needs: "16 GiB". */
export function tickText(unit: Unit, value: number): string {
  if (value === 0 && unit !== "fraction") return "0";
  return unit === "bytes" ? bytes(value).replace(".0 ", " ") : quantity(unit, value);
}

/** With seconds only where ticks are less than a minute apart. */
export function axisTick(axis: Axis, value: number, range: Range): string {
  if (axis === "step") return integer(value);
  if (axis === "rel") return stopwatch(value);
  return range[1] - range[0] < 600 ? clockTimeWithSeconds(value) : clockTime(value);
}

/** Where the cursor stands. */
export function axisPlace(axis: Axis, value: number): string {
  if (axis === "step") return `step ${integer(value)}`;
  return axis === "rel" ? stopwatch(value) : clockTimeWithSeconds(value);
}
