// What the tab shows, written into and read from the fragment of TensorBoard's URL.
//
// TensorBoard's own convention: the fragment starts with the tab's name, followed by
// `key=value` pairs, and a plugin's keys are called `p.<plugin>.<key>`.

const TAB = "health";
const PREFIX = `p.${TAB}.`;

export const AXES = ["step", "rel", "wall"] as const;
export type Axis = (typeof AXES)[number];

export const FILTERS = [
  "all",
  "failed",
  "stuck",
  "warnings",
  "running",
  "early",
  "unknown",
  "healthy",
  "unmonitored",
] as const;
export type Filter = (typeof FILTERS)[number];

export const SORT_KEYS = [
  "health",
  "run",
  "steps",
  "ran",
  "memory",
  "gpu",
  "wait",
  "started",
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

/** How the samples of two runs are matched. */
export const ALIGNS = ["step", "time", "epoch", "end"] as const;
export type Align = (typeof ALIGNS)[number];

/** The keys of the runs after A and B: at most eight are compared. */
const MORE_KEYS = ["b2", "b3", "b4", "b5", "b6", "b7"] as const;
export const MOST_COMPARED = MORE_KEYS.length + 2;

export interface Sort {
  key: SortKey;
  descending: boolean;
}

export interface Nav {
  view: "runs" | "run" | "compare";
  run: string;
  /** The run under question, where two are compared. */
  a: string;
  /** The other one; empty lets the server pick a healthy one. */
  b: string;
  /** Further runs beside the two. */
  more: readonly string[];
  align: Align;
  /** Draw how far each run is from A instead of the runs themselves. */
  difference: boolean;
  /** Null is the one that suits the run. */
  axis: Axis | null;
  /** The zoom, in the unit of the axis. */
  range: readonly [number, number] | null;
  incident: string;
  filter: Filter;
  /** Only runs with this cause, in the words of their chip; empty for all. */
  cause: string;
  query: string;
  /** Null is the usual order: live runs first, then the newest. */
  sort: Sort | null;
}

export const START: Nav = {
  view: "runs",
  run: "",
  a: "",
  b: "",
  more: [],
  align: "step",
  difference: false,
  axis: null,
  range: null,
  incident: "",
  filter: "all",
  cause: "",
  query: "",
  sort: null,
};

interface Fragment {
  /** The name of the open tab, where the fragment has one. */
  tab: string | null;
  mine: Map<string, string>;
  /** Pairs of TensorBoard and other plugins, as they stand. */
  others: string[];
}

function parse(hash: string): Fragment {
  const fragment: Fragment = { tab: null, mine: new Map(), others: [] };
  for (const part of hash.replace(/^#/, "").split("&")) {
    if (part === "") continue;
    const split = part.indexOf("=");
    if (split < 0) {
      fragment.tab ??= part;
      continue;
    }
    const key = decoded(part.slice(0, split));
    if (key.startsWith(PREFIX)) {
      fragment.mine.set(key.slice(PREFIX.length), decoded(part.slice(split + 1)));
    } else {
      fragment.others.push(part);
    }
  }
  return fragment;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** False while another of TensorBoard's tabs is open. */
export function isOurTab(hash: string): boolean {
  const { tab } = parse(hash);
  return tab === null || tab === TAB;
}

export function hasOurKeys(hash: string): boolean {
  return parse(hash).mine.size > 0;
}

/** Reads a fragment. Values that make no sense fall back to the default. */
export function readNav(hash: string): Nav {
  const { mine } = parse(hash);
  const run = mine.get("run") ?? "";
  const a = mine.get("a") ?? "";
  return {
    view: readView(mine.get("view"), run, a),
    run,
    a,
    b: mine.get("b") ?? "",
    more: MORE_KEYS.flatMap((key) => mine.get(key) ?? []),
    align: oneOf(ALIGNS, mine.get("align")) ?? START.align,
    difference: mine.get("draw") === "difference",
    axis: oneOf(AXES, mine.get("x")) ?? START.axis,
    range: readRange(mine.get("from"), mine.get("to")),
    incident: mine.get("inc") ?? "",
    filter: oneOf(FILTERS, mine.get("f")) ?? START.filter,
    cause: mine.get("why") ?? "",
    query: mine.get("q") ?? "",
    sort: readSort(mine.get("sort")),
  };
}

/** Writes our keys into a fragment and leaves those of others as they stand. */
export function writeNav(nav: Nav, hash: string): string {
  const { tab, others } = parse(hash);
  const zoom: [string, string][] = [
    ["from", nav.range ? rounded(nav.range[0]) : ""],
    ["to", nav.range ? rounded(nav.range[1]) : ""],
  ];
  const ofView: Record<Nav["view"], [string, string][]> = {
    runs: [],
    run: [["run", nav.run], ["x", nav.axis ?? ""], ...zoom, ["inc", nav.incident]],
    compare: [
      ["a", nav.a],
      ["b", nav.b],
      ...MORE_KEYS.map((key, at): [string, string] => [key, nav.more[at] ?? ""]),
      ["align", nav.align === START.align ? "" : nav.align],
      ["draw", nav.difference ? "difference" : ""],
      ...zoom,
    ],
  };
  const pairs: [string, string][] = [
    ["view", nav.view === "runs" ? "" : nav.view],
    ...ofView[nav.view],
    ["f", nav.filter === START.filter ? "" : nav.filter],
    ["why", nav.cause],
    ["q", nav.query],
    ["sort", nav.sort ? `${nav.sort.descending ? "-" : ""}${nav.sort.key}` : ""],
  ];
  const mine = pairs
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${PREFIX}${key}=${encodeURIComponent(value)}`);
  return `#${[...(tab === null ? [] : [tab]), ...others, ...mine].join("&")}`;
}

function readView(view: string | undefined, run: string, a: string): Nav["view"] {
  if (view === "run" && run !== "") return "run";
  return view === "compare" && a !== "" ? "compare" : "runs";
}

function oneOf<T extends string>(known: readonly T[], value?: string): T | undefined {
  return known.find((candidate) => candidate === value);
}

function readRange(from?: string, to?: string): readonly [number, number] | null {
  const low = from ? Number(from) : Number.NaN;
  const high = to ? Number(to) : Number.NaN;
  return Number.isFinite(low) && Number.isFinite(high) && low < high
    ? [low, high]
    : null;
}

function readSort(value = ""): Sort | null {
  const descending = value.startsWith("-");
  const key = oneOf(SORT_KEYS, descending ? value.slice(1) : value);
  return key ? { key, descending } : null;
}

/** A link need not carry more digits than a pixel is wide. */
function rounded(value: number): string {
  return String(Number(value.toFixed(2)));
}
