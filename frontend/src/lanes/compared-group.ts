// Several runs beside each other: A in question, and each of the others compared with it.
import type {
  AlignedClock,
  ComparedLane,
  ComparedSetting,
  Comparison,
  Maybe,
  RunRow,
} from "../api-types";
import type { Align } from "../url-state";

/** A lane, and for each run of the group whether it has it. */
export type GroupLane = Omit<ComparedLane, "in_a" | "in_b"> & {
  has: readonly boolean[];
};

export interface Group {
  align: Align;
  /** A first. */
  runs: readonly RunRow[];
  clocks: readonly AlignedClock[];
  lanes: readonly GroupLane[];
}

/** From the comparisons of A with each other run; null where nothing can be drawn. */
export function groupOf(comparisons: readonly Comparison[]): Maybe<Group> {
  const drawn = comparisons.filter((one) => one.clocks && one.b);
  const [first] = drawn;
  if (!first?.clocks) return null;
  return {
    align: first.align,
    runs: [first.a, ...drawn.flatMap((one) => one.b ?? [])],
    clocks: [first.clocks.a, ...drawn.flatMap((one) => one.clocks?.b ?? [])],
    lanes: lanesIn(drawn),
  };
}

function lanesIn(comparisons: readonly Comparison[]): GroupLane[] {
  const known = new Map<string, GroupLane>();
  comparisons.forEach((one, index) => {
    for (const { in_a, in_b, ...lane } of one.lanes) {
      const before = known.get(lane.id);
      const has = before ? [...before.has] : [in_a, ...comparisons.map(() => false)];
      has[index + 1] = in_b;
      known.set(lane.id, before ? { ...before, has } : { ...lane, has });
    }
  });
  return [...known.values()];
}

/** The lanes of one run to ask for; two signals may be columns of one. */
export function lanesOfRun(group: Group, run: number): string[] {
  const has = group.lanes.filter((lane) => lane.has[run]);
  return [...new Set(has.map((lane) => lane.lane))];
}

export interface GroupSetting {
  name: string;
  /** By run, A first. Null where it was not seen. */
  values: Maybe<string>[];
  differs: boolean;
}

/** Settings of all runs: those that differ between any two come first. */
export function settingsIn(comparisons: readonly Comparison[]): GroupSetting[] {
  const known = new Map<string, Maybe<string>[]>();
  comparisons.forEach((one, index) => {
    const every: ComparedSetting[] = [...one.settings, ...one.same_settings];
    for (const { name, a, b } of every) {
      const values = known.get(name) ?? [a, ...comparisons.map(() => null)];
      values[0] ??= a;
      values[index + 1] = b;
      known.set(name, values);
    }
  });
  const all = [...known].map(([name, values]) => ({
    name,
    values,
    differs: values.some((value) => value !== values[0]),
  }));
  return [...all.filter((one) => one.differs), ...all.filter((one) => !one.differs)];
}
