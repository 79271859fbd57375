// What is painted on a chart beside its lines: limits, gaps, and numbers that are none.
import type uPlot from "uplot";
import type { LaneLimit } from "../api-types";
import { gapWords } from "../words";
import type { PlotModel } from "./lane-plot";
import { limitsInSight } from "./scale";
import type { Stretch } from "./track";

/** The value of a colour of the palette, as the theme has it now. */
export function color(name: string): string {
  const theme = document.documentElement.dataset.theme ?? "";
  const known = colors.get(theme + name);
  if (known) return known;
  const value = getComputedStyle(document.documentElement)
    .getPropertyValue(name)
    .trim();
  colors.set(theme + name, value);
  return value;
}

/** By theme and name: asking the browser for each line of each frame takes its time. */
const colors = new Map<string, string>();
let family = "";

function fontFamily(): string {
  family ||= getComputedStyle(document.body).fontFamily;
  return family;
}

export function translucent(name: string, alpha: number): string {
  const share = Math.round(alpha * 255);
  return `${color(name)}${share.toString(16).padStart(2, "0")}`;
}

export function drawBehind(plot: uPlot, model: PlotModel): void {
  paint(plot, (canvas) => {
    const { left, width } = plot.bbox;
    canvas.fillStyle = color("--plot");
    canvas.fillRect(left, 0, width, canvas.canvas.height);
    for (const gap of model.track.gaps) {
      const box = stretchBox(plot, gap);
      hatch(plot, box.left, box.width);
    }
  });
}

export function drawInFront(plot: uPlot, model: PlotModel): void {
  const { lane, track } = model;
  const highest = plot.scales.y?.max ?? null;
  paint(plot, (canvas) => {
    const near = limitsInSight(lane.limits, highest);
    for (const limit of lane.limits) {
      if (!Number.isFinite(limit.value)) continue;
      if (highest !== null && limit.value <= highest) limitLine(plot, limit);
      else if (!near.includes(limit)) farLimit(plot, limit);
    }
    for (const gap of track.gaps) {
      label(plot, gapWords(gap.seconds), stretchBox(plot, gap), color("--text-3"));
    }
    if (track.notFinite) {
      const box = stretchBox(plot, track.notFinite);
      canvas.fillStyle = translucent("--fatal", 0.14);
      canvas.fillRect(box.left, 0, box.width, canvas.canvas.height);
      wordBefore(plot, track.notFinite.word, box.left);
    }
  });
}

const BADGE_RADIUS = 6.5;

/** A letter at the last point in sight of each line: A in a disc, others in squares. */
export function drawBadges(
  plot: uPlot,
  inks: readonly string[],
  letters: readonly string[],
): void {
  const ends = inks.flatMap((ink, index) => {
    const end = lastPoint(plot, index + 1);
    return end ? [{ ...end, ink, letter: letters[index] ?? "" }] : [];
  });
  const { ctx: canvas, bbox } = plot;
  const size = 2 * BADGE_RADIUS * devicePixelRatio;
  for (const end of ends) {
    // Beside the end, where the line of the stop does not cover it.
    end.x = Math.min(end.x + size * 0.7, bbox.left + bbox.width - size / 2);
  }
  pushApart(ends, size);
  canvas.save();
  canvas.font = `bold ${9 * devicePixelRatio}px ${fontFamily()}`;
  canvas.textAlign = "center";
  canvas.textBaseline = "middle";
  for (const { x, y, ink, letter } of ends) {
    const radius = BADGE_RADIUS * devicePixelRatio;
    canvas.fillStyle = color(ink);
    canvas.beginPath();
    if (letter === "A") canvas.arc(x, y, radius, 0, 2 * Math.PI);
    else canvas.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    canvas.fill();
    canvas.fillStyle = color("--on-solid");
    canvas.fillText(letter, x, y + devicePixelRatio / 2);
  }
  canvas.restore();
}

interface End {
  x: number;
  y: number;
}

function lastPoint(plot: uPlot, series: number): End | null {
  const [xs] = plot.data;
  const values = plot.data[series] ?? [];
  const right = plot.scales.x?.max ?? Number.POSITIVE_INFINITY;
  const left = plot.scales.x?.min ?? Number.NEGATIVE_INFINITY;
  for (let at = xs.length - 1; at >= 0; at -= 1) {
    const x = xs[at] ?? 0;
    const value = values[at];
    if (x > right || value === null || value === undefined) continue;
    if (x < left) return null;
    return { x: plot.valToPos(x, "x", true), y: plot.valToPos(value, "y", true) };
  }
  return null;
}

/** Badges that would cover each other stand above each other. */
function pushApart(ends: End[], size: number): void {
  const byHeight = [...ends].sort((a, b) => a.y - b.y);
  byHeight.forEach((end, at) => {
    const above = byHeight
      .slice(0, at)
      .filter((other) => Math.abs(other.x - end.x) < size)
      .at(-1);
    if (above && end.y - above.y < size) end.y = above.y + size;
  });
}

function paint(plot: uPlot, draw: (canvas: CanvasRenderingContext2D) => void): void {
  plot.ctx.save();
  const { left, width } = plot.bbox;
  plot.ctx.beginPath();
  plot.ctx.rect(left, 0, width, plot.ctx.canvas.height);
  plot.ctx.clip();
  plot.ctx.font = `${10.5 * devicePixelRatio}px ${fontFamily()}`;
  draw(plot.ctx);
  plot.ctx.restore();
}

interface Box {
  left: number;
  width: number;
}

/** At least three pixels, so that a single bad number can be seen. */
function stretchBox(plot: uPlot, stretch: Stretch): Box {
  const left = plot.valToPos(stretch.from, "x", true);
  const right = plot.valToPos(stretch.to, "x", true);
  return { left, width: Math.max(3 * devicePixelRatio, right - left) };
}

function limitLine(plot: uPlot, limit: LaneLimit): void {
  const { ctx: canvas, bbox } = plot;
  const y = plot.valToPos(limit.value, "y", true);
  canvas.strokeStyle = color("--fatal");
  canvas.lineWidth = devicePixelRatio;
  canvas.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  canvas.beginPath();
  canvas.moveTo(bbox.left, y);
  canvas.lineTo(bbox.left + bbox.width, y);
  canvas.stroke();
  canvas.setLineDash([]);
  write(plot, limit.label, y + 3 * devicePixelRatio, color("--fatal"));
}

/** Far above everything measured: said, not drawn. */
function farLimit(plot: uPlot, limit: LaneLimit): void {
  write(
    plot,
    `↑ ${limit.label}`,
    plot.bbox.top - 5 * devicePixelRatio,
    color("--text-3"),
  );
}

function write(plot: uPlot, text: string, y: number, ink: string): void {
  const { ctx: canvas, bbox } = plot;
  canvas.fillStyle = ink;
  canvas.textAlign = "left";
  canvas.textBaseline = "top";
  canvas.fillText(text, bbox.left + 7 * devicePixelRatio, y);
}

function hatch(plot: uPlot, left: number, width: number): void {
  const { ctx: canvas } = plot;
  const { height } = canvas.canvas;
  const apart = 6 * devicePixelRatio;
  canvas.save();
  canvas.beginPath();
  canvas.rect(left, 0, width, height);
  canvas.clip();
  canvas.strokeStyle = translucent("--text-3", 0.25);
  canvas.lineWidth = devicePixelRatio;
  canvas.beginPath();
  for (let x = left - height; x < left + width; x += apart) {
    canvas.moveTo(x, height);
    canvas.lineTo(x + height, 0);
  }
  canvas.stroke();
  canvas.restore();
}

/** Only where it fits. */
function label(plot: uPlot, text: string, box: Box, ink: string): void {
  const { ctx: canvas } = plot;
  if (canvas.measureText(text).width + 8 > box.width) return;
  canvas.fillStyle = ink;
  canvas.textAlign = "center";
  canvas.textBaseline = "middle";
  canvas.fillText(text, box.left + box.width / 2, canvas.canvas.height / 2);
}

function wordBefore(plot: uPlot, text: string, x: number): void {
  const { ctx: canvas, bbox } = plot;
  canvas.fillStyle = color("--fatal");
  canvas.textAlign = "right";
  canvas.textBaseline = "top";
  canvas.fillText(text, x - 4 * devicePixelRatio, bbox.top - 4 * devicePixelRatio);
}
