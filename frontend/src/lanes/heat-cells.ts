// Where the cells of the heat map lie, and how strong their colour is.
import type { Layer, Maybe } from "../api-types";
import { type Range, toPixels } from "./scale";

export interface Cell {
  /** Which look it shows. */
  at: number;
  left: number;
  width: number;
}

/** A look without neighbours still needs to be seen, beside the line of the stop, too. */
const ALONE = 24;
const NARROWEST = 3;
/** Looks are rare: a cell says how it was then, not for the whole stretch around it. */
const WIDEST = 40;

/** Each look reaches half-way to its neighbours. */
export function cellsOf(xs: readonly number[], range: Range, width: number): Cell[] {
  const at = xs.map((x) => toPixels(x, range, width));
  return at.flatMap((x, index) => {
    const before = at[index - 1];
    const after = at[index + 1];
    const reach = (other = before ?? after) =>
      other === undefined ? ALONE / 2 : Math.abs(other - x) / 2;
    const bounded = (half: number) => Math.min(WIDEST / 2, half);
    const left = x - bounded(reach(before ?? after));
    const right = x + bounded(reach(after));
    if (right < 0 || left > width) return [];
    return [{ at: index, left, width: Math.max(NARROWEST, right - left) }];
  });
}

/** The least and the largest norm that is a number above zero. */
export function spanOf(layers: readonly Layer[]): Maybe<Range> {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const layer of layers) {
    for (const norm of layer.gradient_norms) {
      if (norm === null || !Number.isFinite(norm) || norm <= 0) continue;
      low = Math.min(low, norm);
      high = Math.max(high, norm);
    }
  }
  return high > 0 ? [low, high] : null;
}

/** 0 for the weakest, 1 for the strongest, by powers of ten; null for what is no number. */
export function shareOf(norm: number, span: Maybe<Range>): Maybe<number> {
  if (!Number.isFinite(norm)) return null;
  if (!span || norm <= 0) return 0;
  const [low, high] = [Math.log10(span[0]), Math.log10(span[1])];
  // All alike is neither weak nor strong.
  return high - low < 1e-9 ? 0.5 : (Math.log10(norm) - low) / (high - low);
}
