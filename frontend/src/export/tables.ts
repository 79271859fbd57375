// Writes what the timeline shows as CSV and as JSON.
import type { Maybe, Unit } from "../api-types";
import type { Sheet, SheetLane } from "./sheet";

const UNIT_WORDS: Record<Unit, string> = {
  bytes: "bytes",
  fraction: "0 to 1",
  seconds: "s",
  count: "",
  per_second: "1/s",
  celsius: "°C",
  watts: "W",
  number: "",
};

interface Column {
  title: string;
  at: Map<number, Maybe<number>>;
}

function columnsOf(lane: SheetLane): Column[] {
  return lane.track.series.flatMap((series, at) => {
    const name = [lane.title, lane.series[at]].filter(Boolean).join(": ");
    const unit = UNIT_WORDS[lane.unit] && ` (${UNIT_WORDS[lane.unit]})`;
    const column = (what: string, values: readonly (Maybe<number> | undefined)[]) => ({
      title: `${name}${what}${unit}`,
      at: new Map(lane.track.x.map((x, row) => [x, values[row] ?? null])),
    });
    const joined = series.min.some((low, row) => low !== series.max[row]);
    return [
      column("", series.said),
      ...(joined
        ? [column(" lowest", series.min), column(" highest", series.max)]
        : []),
    ];
  });
}

export interface SheetTable {
  head: string[];
  rows: { x: number; cells: Maybe<number>[] }[];
  /** How many rows there were before some were left out. */
  total: number;
}

/** One row for each place in sight where any lane has a sample; at most `most`, evenly. */
export function tableOf(sheet: Sheet, most = Number.POSITIVE_INFINITY): SheetTable {
  const columns = sheet.lanes.flatMap(columnsOf);
  const [from, to] = sheet.range;
  const places = new Set(sheet.lanes.flatMap((lane) => lane.track.x));
  const all = [...places].filter((x) => x >= from && x <= to).sort((a, b) => a - b);
  const stride = Math.max(1, Math.ceil(all.length / most));
  // Counted from the end: how it stood last is what matters most.
  const kept = all.filter((_, at) => (all.length - 1 - at) % stride === 0);
  return {
    head: [sheet.axisTitle, ...columns.map((column) => column.title)],
    rows: kept.map((x) => ({
      x,
      cells: columns.map((column) => column.at.get(x) ?? null),
    })),
    total: all.length,
  };
}

export function csvOf(sheet: Sheet): string {
  const { head, rows } = tableOf(sheet);
  const lines = [
    head,
    ...rows.map(({ x, cells }) => [
      String(x),
      ...cells.map((value) => (value === null ? "" : String(value))),
    ]),
  ];
  return `${lines.map((cells) => cells.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** Quoted where needed; a word that a spreadsheet would run as a formula is defused. */
export function cell(words: string): string {
  const isNumber = words !== "" && Number.isFinite(Number(words));
  const safe = !isNumber && /^[=+\-@\t\r]/.test(words) ? `'${words}` : words;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** Rises when a reader of before could no longer read it. */
const SCHEMA_VERSION = 1;

export function jsonOf(sheet: Sheet, told: unknown): string {
  const [from, to] = sheet.range;
  const lanes = sheet.lanes.map((lane) => {
    const rows = lane.track.x.flatMap((x, at) => (x >= from && x <= to ? [at] : []));
    return {
      id: lane.id,
      title: lane.title,
      unit: lane.unit,
      limits: lane.limits,
      x: rows.map((at) => lane.track.x[at]),
      series: lane.track.series.map((series, index) => ({
        title: lane.series[index] ?? lane.title,
        value: rows.map((at) => series.said[at] ?? null),
        lowest: rows.map((at) => series.min[at] ?? null),
        highest: rows.map((at) => series.max[at] ?? null),
      })),
    };
  });
  const content = {
    schema_version: SCHEMA_VERSION,
    axis: sheet.axisTitle,
    from,
    to,
    told,
    lanes,
  };
  return JSON.stringify(content, notFiniteAsWords, 1);
}

/** JSON has no NaN; the words are those of the server. */
function notFiniteAsWords(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
