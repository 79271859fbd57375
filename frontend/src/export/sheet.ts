// What the timeline shows at this moment, ready to be written as a picture or a table.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LaneLimit, Maybe, Unit } from "../api-types";
import type { Range } from "../lanes/scale";
import type { Track } from "../lanes/track";
import type { Tone } from "../run-tone";

export interface SheetLane {
  id: string;
  title: string;
  unit: Unit;
  /** Names of the lines in the track; one alone needs none. */
  series: readonly string[];
  /** Names of palette colours, by series. */
  inks: readonly string[];
  track: Track;
  limits: readonly LaneLimit[];
  log: boolean;
}

export interface SheetMark {
  x: number;
  label: string;
  tone: Tone;
  stop: boolean;
}

export interface Sheet {
  headline: string;
  /** The runs it is about, and when they ran. */
  about: string;
  axisTitle: string;
  range: Range;
  ticks: readonly { x: number; text: string }[];
  marks: readonly SheetMark[];
  lanes: readonly SheetLane[];
}

/** Set by the timeline that is open; null where there is none. */
export const currentSheet = signal<Maybe<() => Sheet>>(null);

/** Offers the present sheet for export as long as its timeline is open. */
export function useSheet(make: () => Sheet): void {
  useEffect(() => {
    latest = make;
  });
  useEffect(() => {
    currentSheet.value = () => latest?.() ?? make();
    return () => {
      currentSheet.value = null;
    };
  }, []);
}

let latest: (() => Sheet) | null = null;
