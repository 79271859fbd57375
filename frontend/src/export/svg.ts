// Writes the timeline as an SVG with its words: a picture of the canvas has none.
import type { Maybe } from "../api-types";
import { byteTicks, ticks, toPixels, yRange } from "../lanes/scale";
import { tickText } from "../lanes/tick-text";
import type { Track, TrackSeries } from "../lanes/track";
import type { Sheet, SheetLane } from "./sheet";

/** The value of a palette colour. */
export type Ink = (name: string) => string;

const WIDTH = 1200;
const LEFT = 190;
const RIGHT = 24;
const TOP = 118;
const LANE_HEIGHT = 92;
const LANE_GAP = 12;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const FONT = "Roboto, Helvetica Neue, Arial, sans-serif";
const DASHES = ["", "5 3", "2 3", "9 3"];

export function svgOf(sheet: Sheet, ink: Ink): string {
  const lanes = sheet.lanes.map((lane, at) => ({
    lane,
    top: TOP + at * (LANE_HEIGHT + LANE_GAP),
  }));
  const height = TOP + lanes.length * (LANE_HEIGHT + LANE_GAP) + 12;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="${FONT}" font-size="12">`,
    `<title>${escaped(sheet.headline)}</title>`,
    `<defs><clipPath id="plot"><rect x="${LEFT}" y="0" width="${PLOT_WIDTH}" height="${height}"/></clipPath></defs>`,
    `<rect width="${WIDTH}" height="${height}" fill="${ink("--card")}"/>`,
    text(20, 34, sheet.headline, ink("--text"), 'font-size="20" font-weight="600"'),
    text(20, 56, sheet.about, ink("--text-3")),
    text(20, 84, sheet.axisTitle, ink("--text-3")),
    ...sheet.ticks.map(({ x, text: word }) =>
      text(place(sheet, x), 84, word, ink("--text-3"), 'text-anchor="middle"'),
    ),
    ...lanes.map(({ lane, top }) => laneOf(sheet, lane, top, ink)),
    ...sheet.marks.map((mark) => {
      const x = place(sheet, mark.x);
      const colour = ink(`--${mark.tone}`);
      const dash = mark.stop ? "" : ' stroke-dasharray="3 3"';
      return (
        `<path d="M${x} ${TOP - 8}V${height - 16}" stroke="${colour}" stroke-width="${mark.stop ? 2 : 1}"${dash}/>` +
        text(x, TOP - 13, mark.label, colour, 'text-anchor="middle" font-weight="600"')
      );
    }),
    "</svg>",
  ];
  return parts.join("\n");
}

function laneOf(sheet: Sheet, lane: SheetLane, top: number, ink: Ink): string {
  const [low, high] = rangeOf(sheet, lane);
  const y = (value: number) => {
    const share = lane.log
      ? (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))
      : (value - low) / (high - low);
    return round(
      top + LANE_HEIGHT - Math.max(-0.1, Math.min(1.1, share)) * LANE_HEIGHT,
    );
  };
  const wanted =
    lane.unit === "bytes" ? byteTicks([low, high], 2) : ticks([low, high], 2);
  const lines = lane.log ? [low, high] : wanted;
  return [
    `<rect x="${LEFT}" y="${top}" width="${PLOT_WIDTH}" height="${LANE_HEIGHT}" fill="${ink("--plot")}"/>`,
    text(20, top + 16, lane.title, ink("--text")),
    ...lane.series.map((name, at) =>
      text(20, top + 34 + 15 * at, name, ink(lane.inks[at] ?? "--text-3")),
    ),
    ...lines.map(
      (value) =>
        `<path d="M${LEFT} ${y(value)}H${LEFT + PLOT_WIDTH}" stroke="${ink("--grid")}"/>` +
        text(
          LEFT - 8,
          y(value) + 4,
          tickText(lane.unit, value),
          ink("--text-3"),
          'text-anchor="end" font-size="11"',
        ),
    ),
    '<g clip-path="url(#plot)">',
    ...lane.track.series.map((series, at) => {
      const colour = ink(lane.inks[at] ?? "--text-3");
      const dash = lane.inks.length > 1 ? "" : (DASHES[at % DASHES.length] ?? "");
      return (
        `<path d="${band(sheet, lane.track, series, y)}" fill="${colour}" fill-opacity=".16"/>` +
        `<path d="${line(sheet, lane.track, series.mean, y)}" fill="none" stroke="${colour}" stroke-width="1.5"${dash && ` stroke-dasharray="${dash}"`}/>`
      );
    }),
    ...lane.limits
      .filter(({ value }) => value >= low && value <= high)
      .map(
        ({ value, label }) =>
          `<path d="M${LEFT} ${y(value)}H${LEFT + PLOT_WIDTH}" stroke="${ink("--fatal")}" stroke-dasharray="5 4"/>` +
          text(LEFT + 6, y(value) + 13, label, ink("--fatal"), 'font-size="11"'),
      ),
    notFinite(sheet, lane, top, ink),
    "</g>",
  ].join("\n");
}

function notFinite(sheet: Sheet, lane: SheetLane, top: number, ink: Ink): string {
  const found = lane.track.notFinite;
  if (!found) return "";
  const from = place(sheet, found.from);
  const width = Math.max(3, place(sheet, found.to) - from);
  return (
    `<rect x="${from}" y="${top}" width="${round(width)}" height="${LANE_HEIGHT}" fill="${ink("--fatal")}" fill-opacity=".14"/>` +
    text(from - 4, top + 14, found.word, ink("--fatal"), 'text-anchor="end"')
  );
}

/** As the chart on the screen has it: fitted to what is in sight. */
function rangeOf(sheet: Sheet, lane: SheetLane): [number, number] {
  let low: Maybe<number> = null;
  let high: Maybe<number> = null;
  lane.track.x.forEach((x, at) => {
    if (x < sheet.range[0] || x > sheet.range[1]) return;
    for (const series of lane.track.series) {
      const [least, most] = [series.min[at] ?? null, series.max[at] ?? null];
      if (least !== null) low = low === null ? least : Math.min(low, least);
      if (most !== null) high = high === null ? most : Math.max(high, most);
    }
  });
  const [from, to] = yRange(lane.unit, low, high, lane.limits, lane.log);
  return from < to ? [from, to] : [from - 1, from + 1];
}

type Values = TrackSeries["mean"];

/** A line with a gap wherever a value is missing; undefined is no gap. */
function line(sheet: Sheet, track: Track, values: Values, y: (v: number) => number) {
  let path = "";
  let draws = false;
  values.forEach((value, at) => {
    if (value === undefined) return;
    if (value === null) {
      draws = false;
      return;
    }
    path += `${draws ? "L" : "M"}${place(sheet, track.x[at] ?? 0)} ${y(value)}`;
    draws = true;
  });
  return path;
}

function band(
  sheet: Sheet,
  track: Track,
  series: TrackSeries,
  y: (v: number) => number,
) {
  const known = track.x.flatMap((x, at) => {
    const [low, high] = [series.min[at] ?? null, series.max[at] ?? null];
    return low === null || high === null || low === high ? [] : [{ x, low, high }];
  });
  if (known.length === 0) return "";
  const upper = known.map(({ x, high }) => `${place(sheet, x)} ${y(high)}`);
  const lower = known.map(({ x, low }) => `${place(sheet, x)} ${y(low)}`).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}

function place(sheet: Sheet, x: number): number {
  return round(LEFT + toPixels(x, sheet.range, PLOT_WIDTH));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function text(x: number, y: number, words: string, colour: string, more = ""): string {
  return `<text x="${x}" y="${y}" fill="${colour}" ${more}>${escaped(words)}</text>`;
}

/** Words of the run may hold anything; XML takes no control characters at all. */
export function escaped(words: string): string {
  return (
    words
      .slice(0, 400)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must go.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(
        /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
        "\ufffd",
      )
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;")
      .replace(/"/g, "&quot;")
  );
}
