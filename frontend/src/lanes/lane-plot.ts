// One chart on uPlot. With lane-canvas.ts the only file that knows the library.
import uPlot from "uplot";
import type { LaneInfo, Maybe } from "../api-types";
import { color, drawBadges, drawBehind, drawInFront, translucent } from "./lane-canvas";
import { byteTicks, powerTicks, type Range, ticks, yRange } from "./scale";
import { tickText } from "./tick-text";
import { isolated, type Track } from "./track";

/** Equal for all lanes and the overlay above them, so that x means the same in each. */
export const AXIS_WIDTH = 56;
export const RIGHT_MARGIN = 14;
const VERTICAL_PADDING = 9;
const SHORTEST_DRAG_PIXELS = 6;

/** All charts on the page share one cursor. */
const SYNC_KEY = "lanes";

export interface PlotModel {
  lane: LaneInfo;
  track: Track;
  range: Range;
  /** The y axis fits what is in sight instead of starting at zero. */
  fit?: boolean;
}

/** How the lines of a lane look. */
export interface LaneLook {
  /** Names of palette colours, by series. */
  inks: readonly string[];
  dashes: readonly (readonly number[])[];
  widths: readonly number[];
  /** The letter at the end of each line; null where lines have none. */
  letters: readonly string[] | null;
}

export interface PlotEvents {
  onCursor(x: Maybe<number>): void;
  onZoom(range: Maybe<Range>): void;
}

export interface LanePlot {
  update(model: PlotModel): void;
  resize(width: number): void;
  redraw(): void;
  destroy(): void;
}

export function createLanePlot(
  element: HTMLElement,
  height: number,
  log: boolean,
  first: PlotModel,
  events: PlotEvents,
  look: LaneLook = ONE_RUN,
): LanePlot {
  let model = first;
  const current = () => model;
  const plot = new uPlot(
    options(current, element.clientWidth || 600, height, log, events, look),
    dataOf(model.track),
    element,
  );
  plot.over.addEventListener("dblclick", () => events.onZoom(null));
  plot.over.addEventListener("mouseleave", () => events.onCursor(null));
  return {
    update(next) {
      const onlyMoved = next.track === model.track;
      model = next;
      if (onlyMoved) plot.setScale("x", { min: next.range[0], max: next.range[1] });
      else plot.setData(dataOf(next.track));
    },
    resize(width) {
      if (width > 0 && width !== plot.width) plot.setSize({ width, height });
    },
    redraw: () => plot.redraw(false),
    destroy: () => plot.destroy(),
  };
}

/** The means, then the lower and upper edge of each band. */
function dataOf(track: Track): uPlot.AlignedData {
  return [
    track.x,
    ...track.series.map((series) => series.mean),
    ...track.series.flatMap((series) => [series.min, series.max]),
  ];
}

function options(
  model: () => PlotModel,
  width: number,
  height: number,
  log: boolean,
  events: PlotEvents,
  look: LaneLook,
): uPlot.Options {
  const { lane } = model();
  const count = lane.series.length;
  return {
    width,
    height,
    padding: [VERTICAL_PADDING, RIGHT_MARGIN, VERTICAL_PADDING, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [...model().range] },
      y: {
        distr: log ? 3 : 1,
        range: (_plot, low: Maybe<number>, high: Maybe<number>) =>
          yRange(lane.unit, low, high, model().lane.limits, log, model().fit),
      },
    },
    axes: [{ show: false }, yAxis(lane, height, log)],
    series: [
      {},
      ...lane.series.map((_, index) => meanLine(lane, index, look)),
      ...lane.series.flatMap(() => [bandEdge(), bandEdge()]),
    ],
    bands: lane.series.map((_, index) => ({
      series: [count + 2 + 2 * index, count + 1 + 2 * index],
      fill: () => translucent(inkOf(look, index, "--line"), index === 0 ? 0.16 : 0.1),
    })),
    cursor: cursor(count, look),
    hooks: {
      drawClear: [(plot) => drawBehind(plot, model())],
      draw: [
        (plot) => {
          drawInFront(plot, model());
          if (look.letters) drawBadges(plot, look.inks, look.letters);
        },
      ],
      setCursor: [(plot) => reportCursor(plot, events)],
      setSelect: [(plot) => reportDrag(plot, events)],
    },
  };
}

export const DASHES: readonly (readonly number[])[] = [[], [4, 3], [1.5, 3], [8, 3]];

/** Lanes have one neutral colour; further series differ by their dashes. */
const ONE_RUN: LaneLook = {
  inks: ["--line"],
  dashes: DASHES,
  widths: [1.5],
  letters: null,
};

/** Lines that share a colour family are told apart by their dashes, too. */
const RUN_DASHES: readonly (readonly number[])[] = [
  [],
  [],
  [6, 3],
  [2, 3],
  [9, 3, 2, 3],
  [6, 3],
  [2, 3],
  [9, 3, 2, 3],
];

const looks = new Map<string, LaneLook>();

/** Several runs in one lane, told apart by colour, dashes and their letters. */
export function lookOf(letters: readonly string[]): LaneLook {
  const key = letters.join("");
  const known = looks.get(key);
  if (known) return known;
  const places = letters.map((letter) => letter.charCodeAt(0) - "a".charCodeAt(0));
  const look: LaneLook = {
    inks: letters.map((letter) => `--${letter}`),
    dashes: places.map((place) => RUN_DASHES[place] ?? []),
    widths: places.map((place) => (place === 0 ? 1.75 : 1.25)),
    letters: letters.map((letter) => letter.toUpperCase()),
  };
  looks.set(key, look);
  return look;
}

function inkOf(look: LaneLook, index: number, others: string): string {
  return look.inks[index] ?? others;
}

function meanLine(lane: LaneInfo, index: number, look: LaneLook): uPlot.Series {
  const first = index === 0;
  const dashes = look.dashes[index % look.dashes.length] ?? [];
  return {
    stroke: () => color(inkOf(look, index, "--text-3")),
    width: look.widths[index] ?? 1.25,
    dash: [...dashes],
    points: {
      show: true,
      size: 5,
      filter: (plot, series) => isolatedIn(plot.data[series] ?? []),
    },
    ...(first &&
      !look.letters &&
      lane.unit === "bytes" && { fill: () => translucent("--line", 0.07) }),
  };
}

/** Found once for each array; a frame that only moves draws the same ones. */
const isolatedOf = new WeakMap<object, number[]>();

function isolatedIn(values: uPlot.AlignedData[number]): number[] {
  const known = isolatedOf.get(values);
  if (known) return known;
  const found = isolated([...values]);
  isolatedOf.set(values, found);
  return found;
}

function bandEdge(): uPlot.Series {
  return { stroke: "transparent", width: 0, points: { show: false } };
}

function yAxis(lane: LaneInfo, height: number, log: boolean): uPlot.Axis {
  const wanted = Math.max(2, Math.floor(height / 34));
  const font = `10.5px ${getComputedStyle(document.body).fontFamily || "sans-serif"}`;
  // On a logarithmic scale only powers of ten get a line and a number.
  const powers = (_plot: uPlot, splits: number[]) => powerTicks(splits, wanted);
  return {
    size: AXIS_WIDTH,
    gap: 6,
    font,
    stroke: () => color("--text-3"),
    ticks: { show: false },
    grid: {
      stroke: () => color("--grid"),
      width: 1,
      ...(log && { filter: powers }),
    },
    ...(log && { filter: powers }),
    ...(!log && {
      splits: (_plot, _axis, low, high) => yTicks(lane, [low, high], wanted),
    }),
    values: (_plot, splits: Maybe<number>[]) =>
      splits.map((split) => (split === null ? "" : tickText(lane.unit, split))),
  };
}

function yTicks(lane: LaneInfo, range: Range, wanted: number): number[] {
  if (lane.unit === "fraction" && range[0] === 0 && range[1] === 1) return [0, 0.5, 1];
  return lane.unit === "bytes" ? byteTicks(range, wanted) : ticks(range, wanted);
}

function cursor(seriesCount: number, look: LaneLook): uPlot.Cursor {
  return {
    y: false,
    drag: { x: true, y: false, setScale: false },
    sync: { key: SYNC_KEY, setSeries: false, scales: ["x", null] },
    points: {
      size: (_plot, series) => (series <= seriesCount ? 7 : 0),
      width: 2,
      fill: () => color("--card"),
      stroke: (_plot, series) => color(inkOf(look, series - 1, "--line")),
    },
  };
}

function reportCursor(plot: uPlot, events: PlotEvents): void {
  const left = plot.cursor.left ?? -1;
  if (left >= 0) events.onCursor(plot.posToVal(left, "x"));
}

function reportDrag(plot: uPlot, events: PlotEvents): void {
  const { left, width } = plot.select;
  if (width >= SHORTEST_DRAG_PIXELS) {
    events.onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  }
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}
