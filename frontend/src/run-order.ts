// Which runs the list shows, and in which order.
import type { Maybe, RunRow } from "./api-types";
import { isLive, type Shape, shapeOfRun } from "./run-tone";
import { FILTERS, type Filter, type Nav, type Sort, type SortKey } from "./url-state";

/** A run with warnings that still runs counts as both. */
export function belongsTo(run: RunRow, filter: Filter): boolean {
  const shape = shapeOfRun(run);
  switch (filter) {
    case "all":
      return true;
    case "failed":
      return shape === "failed" && run.state !== "running";
    case "stuck":
      return shape === "stuck";
    case "warnings":
      return shape === "warning" || (shape === "failed" && run.state === "running");
    case "running":
      return run.state === "running";
    case "early":
      return run.state === "ended_early" && shape !== "failed";
    case "unknown":
      return run.state === "unknown" && shape !== "failed";
    case "healthy":
      return shape === "healthy";
    case "unmonitored":
      return !run.monitored;
  }
}

export function countByFilter(runs: readonly RunRow[]): Map<Filter, number> {
  return new Map(
    FILTERS.map((filter) => [
      filter,
      runs.filter((run) => belongsTo(run, filter)).length,
    ]),
  );
}

/** Why runs failed or were warned of, the most frequent first. */
export function countCauses(runs: readonly RunRow[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const run of runs) {
    if (run.severity === null || run.severity === "info") continue;
    counts.set(run.chip, (counts.get(run.chip) ?? 0) + 1);
  }
  return [...counts].sort(
    ([a, left], [b, right]) => right - left || byName.compare(a, b),
  );
}

/** Finds by the run's name or by what happened to it, with all words given. */
export function matches(run: RunRow, query: string): boolean {
  const text = `${run.name} ${run.chip} ${run.headline}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const WORST_FIRST: readonly Shape[] = [
  "stuck",
  "failed",
  "warning",
  "ended",
  "running",
  "healthy",
  "none",
];

function sortValue(run: RunRow, key: SortKey): Maybe<number> | string {
  switch (key) {
    case "health":
      return WORST_FIRST.indexOf(shapeOfRun(run));
    case "run":
      return run.name;
    case "steps":
      return run.step;
    case "ran":
      return run.ran_for_seconds;
    case "memory":
      return run.peak_memory_bytes;
    case "gpu":
      return run.gpu_busy_fraction;
    case "wait":
      return run.data_wait_fraction;
    case "started":
      return run.started_at;
  }
}

const byName = new Intl.Collator("en", { numeric: true });

/** What is not recorded comes last in either direction. */
function compare(a: RunRow, b: RunRow, sort: Sort): number {
  const left = sortValue(a, sort.key);
  const right = sortValue(b, sort.key);
  if (left === right) return 0;
  if (left === null) return 1;
  if (right === null) return -1;
  const order =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : byName.compare(String(left), String(right));
  return sort.descending ? -order : order;
}

const NEWEST: Sort = { key: "started", descending: true };

function usual(a: RunRow, b: RunRow): number {
  const live = Number(isLive(b.state)) - Number(isLive(a.state));
  return live || compare(a, b, NEWEST);
}

export function ordered(runs: readonly RunRow[], sort: Sort | null): RunRow[] {
  return [...runs].sort((a, b) => {
    const order = sort ? compare(a, b, sort) : usual(a, b);
    return order || byName.compare(a.name, b.name);
  });
}

export function selectRuns(
  runs: readonly RunRow[],
  { filter, cause, query, sort }: Pick<Nav, "filter" | "cause" | "query" | "sort">,
): RunRow[] {
  const shown = runs.filter(
    (run) =>
      belongsTo(run, filter) &&
      (cause === "" || run.chip === cause) &&
      matches(run, query),
  );
  return ordered(shown, sort);
}

/** Numbers start with the largest, words and health with the first. */
export function nextSort(sort: Sort | null, key: SortKey): Sort | null {
  const first = key !== "run" && key !== "health";
  if (sort?.key !== key) return { key, descending: first };
  return sort.descending === first ? { key, descending: !first } : null;
}

/** The runs that need someone now: live, and stuck or warned. At most three. */
export function needAttention(runs: readonly RunRow[]): RunRow[] {
  const alarmed = runs.filter(
    (run) => isLive(run.state) && run.severity !== null && run.severity !== "info",
  );
  return ordered(alarmed, { key: "health", descending: false }).slice(0, 3);
}
