// The gradients of every layer over the run, one row per layer: dark is strong.
import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Layer, Maybe, TrainingInside } from "../api-types";
import { decimal, NONE } from "../format";
import { dark } from "../state";
import type { Axis } from "../url-state";
import { heatMapLabel } from "../words";
import { type Cell, cellsOf, shareOf, spanOf } from "./heat-cells";
import { color } from "./lane-canvas";
import { AXIS_WIDTH, RIGHT_MARGIN } from "./lane-plot";
import type { Range } from "./scale";

interface Props {
  inside: TrainingInside;
  axis: Axis;
  startedAt: Maybe<number>;
  range: Range;
  width: number;
  cursor: Signal<Maybe<number>>;
}

const ROW_HEIGHT = 14;
const MOST_HEIGHT = 280;
const PADDING = 6;

/** Layers that can have a gradient; a layer without weights has none to show. */
export function heatRows(inside: TrainingInside): Layer[] {
  return inside.layers.filter((layer) =>
    layer.gradient_norms.some((norm) => norm !== null),
  );
}

export function HeatMap(props: Props) {
  const { inside, axis, startedAt, range, width, cursor } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [row, setRow] = useState<Maybe<number>>(null);
  const layers = heatRows(inside);
  const height = Math.min(MOST_HEIGHT, layers.length * ROW_HEIGHT);
  const xs = inside.looks.step.map((step, at) => {
    if (axis === "step") return step;
    const time = inside.looks.time[at] ?? 0;
    return axis === "wall" ? time : time - (startedAt ?? 0);
  });
  const span = spanOf(layers);
  const cells = cellsOf(xs, range, width);
  const isDark = dark.value;

  useLayoutEffect(() => {
    const target = canvas.current;
    if (target) paint(target, layers, cells, span, width, height);
  }, [
    inside,
    cells.map((cell) => `${cell.left} ${cell.width}`).join(),
    height,
    isDark,
  ]);

  function over(event: PointerEvent) {
    const box = event.currentTarget as HTMLElement;
    const { left, top } = box.getBoundingClientRect();
    const share = (event.clientX - left - AXIS_WIDTH) / width;
    cursor.value =
      share < 0 || share > 1 ? null : range[0] + share * (range[1] - range[0]);
    const at = Math.floor(((event.clientY - top - PADDING) / height) * layers.length);
    setRow(at >= 0 && at < layers.length ? at : null);
  }

  function leave() {
    cursor.value = null;
    setRow(null);
  }

  return (
    <section
      class="lane layer-heat"
      data-lane="gradients_by_layer"
      aria-label="Gradients by layer"
    >
      <div class="lane-words">
        <h3>Gradients by layer</h3>
        <Reading {...props} layers={layers} row={row} xs={xs} />
        <Scale span={span} />
      </div>
      <div
        class="lane-plot"
        onPointerMove={over}
        onPointerLeave={leave}
        style={{ height: `${height + 2 * PADDING}px` }}
      >
        <RowNames layers={layers} height={height} />
        <canvas
          ref={canvas}
          role="img"
          aria-label={heatMapLabel(layers)}
          style={{
            left: `${AXIS_WIDTH}px`,
            top: `${PADDING}px`,
            width: `calc(100% - ${AXIS_WIDTH + RIGHT_MARGIN}px)`,
            height: `${height}px`,
          }}
        />
      </div>
    </section>
  );
}

/** Beside the rows where they are high enough for a word. */
function RowNames({ layers, height }: { layers: readonly Layer[]; height: number }) {
  const apart = height / layers.length;
  if (apart < 10) return null;
  return (
    <ul class="layer-names" aria-hidden="true" style={{ width: `${AXIS_WIDTH - 6}px` }}>
      {layers.map((layer) => (
        <li
          key={layer.name}
          class="cut-off"
          title={layer.name}
          style={{ height: `${apart}px`, lineHeight: `${apart}px` }}
        >
          {layer.name}
        </li>
      ))}
    </ul>
  );
}

interface ReadingProps extends Props {
  layers: readonly Layer[];
  row: Maybe<number>;
  xs: readonly number[];
}

function Reading({ layers, row, xs, cursor }: ReadingProps) {
  const x = cursor.value;
  const layer = row === null ? undefined : layers[row];
  if (!layer || x === null) return null;
  let at = 0;
  xs.forEach((place, index) => {
    if (Math.abs(place - x) < Math.abs((xs[at] ?? 0) - x)) at = index;
  });
  const norm = layer.gradient_norms[at] ?? null;
  return (
    <div class="lane-values several">
      <b>
        {norm === null ? NONE : Number.isFinite(norm) ? decimal(norm) : String(norm)}
      </b>
      <span class="faint">{layer.name}</span>
    </div>
  );
}

function Scale({ span }: { span: Maybe<Range> }) {
  if (!span) return null;
  return (
    <p class="layer-scale">
      {decimal(span[0])}
      <span aria-hidden="true" />
      {decimal(span[1])}
    </p>
  );
}

function paint(
  canvas: HTMLCanvasElement,
  layers: readonly Layer[],
  cells: readonly Cell[],
  span: Maybe<Range>,
  width: number,
  height: number,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  context.fillStyle = color("--plot");
  context.fillRect(0, 0, width, height);
  const apart = height / layers.length;
  const [low, high] = [rgb(color("--heat-low")), rgb(color("--heat-high"))];
  layers.forEach((layer, row) => {
    for (const cell of cells) {
      const norm = layer.gradient_norms[cell.at] ?? null;
      if (norm === null) continue;
      const share = shareOf(norm, span);
      context.fillStyle = share === null ? color("--fatal") : mixed(low, high, share);
      context.fillRect(cell.left, row * apart, cell.width, apart - 1);
    }
  });
}

type Rgb = readonly [number, number, number];

function rgb(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) || 0;
  return [part(1), part(3), part(5)];
}

function mixed(low: Rgb, high: Rgb, share: number): string {
  const parts = low.map((part, at) =>
    Math.round(part + ((high[at] ?? 0) - part) * share),
  );
  return `rgb(${parts.join(" ")})`;
}
