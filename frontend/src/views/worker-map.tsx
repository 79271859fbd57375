// What every worker did, as a heat map of worker by time; the root is marked.
import { useEffect, useMemo, useState } from "preact/hooks";
import { workersSource } from "../api";
import type {
  Maybe,
  Story,
  WorkerCells,
  WorkerPart,
  WorkerQuantity,
  WorkerRow,
} from "../api-types";
import { createFeed } from "../feed";
import { Switch } from "../parts/switch";
import {
  WORKER_MAP_TITLE,
  WORKER_PARTS,
  WORKER_QUANTITIES,
  workerRange,
} from "../words";

const QUANTITIES: readonly WorkerQuantity[] = ["step_seconds", "data_wait", "memory"];
/** Numbers further apart than this are shown by their logarithms. */
const FAR_APART = 20;

const TONES: Record<WorkerPart, string> = {
  root: "fatal",
  same: "fatal",
  consequence: "warn",
  "no record": "muted",
  fine: "ok",
};

export function WorkerMap({ story }: { story: Story }) {
  return story.workers ? <ShownMap story={story} /> : null;
}

function ShownMap({ story }: { story: Story }) {
  const [quantity, choose] = useState<WorkerQuantity>("step_seconds");
  const run = story.run.name;
  const feed = useMemo(() => createFeed(workersSource(run, quantity)), [run, quantity]);
  // A story that is the same object is one in which nothing has changed.
  useEffect(() => void feed.refresh(), [feed, story]);
  const cells = feed.data.value;
  // A report may be older than the map.
  if (!cells && feed.error.value) return null;
  return (
    <section class="card workers" aria-labelledby="worker-map">
      <header>
        <h2 id="worker-map">{WORKER_MAP_TITLE}</h2>
        <span class="space" />
        <Switch
          legend="What the map shows"
          items={QUANTITIES}
          chosen={quantity}
          title={(item) => WORKER_QUANTITIES[item]}
          onSwitch={(item) => choose(item)}
        />
      </header>
      {cells && <HeatMap cells={cells} title={WORKER_QUANTITIES[quantity]} />}
    </section>
  );
}

function HeatMap({ cells, title }: { cells: WorkerCells; title: string }) {
  const range = rangeOf(cells.rows.flatMap((row) => row.values));
  if (!range) return <p class="quiet">Nothing was measured of this.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard.
    <div class="heat-map" tabIndex={0}>
      <table>
        <caption class="unseen">{title}, by worker and time</caption>
        <tbody>
          {cells.rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td>
                <span class={`part ${TONES[row.part]}`}>{WORKER_PARTS[row.part]}</span>
              </td>
              <td class="heat">
                <HeatRow row={row} range={range} unit={cells.unit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint heat-legend">
        {title}: {workerRange(cells.unit, range[0], range[0])}
        <span aria-hidden="true" class="heat-scale" />
        {workerRange(cells.unit, range[1], range[1])}
      </p>
    </div>
  );
}

function HeatRow(props: {
  row: WorkerRow;
  range: readonly [number, number];
  unit: WorkerCells["unit"];
}) {
  const own = rangeOf(props.row.values);
  const words = own ? workerRange(props.unit, own[0], own[1]) : "not measured";
  return (
    <div
      role="img"
      aria-label={words}
      title={words}
      style={{ background: gradient(props.row.values, props.range) }}
    />
  );
}

/** Lowest and highest number; null if there is none. */
export function rangeOf(values: readonly Maybe<number>[]): [number, number] | null {
  let range: [number, number] | null = null;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    range = range
      ? [Math.min(range[0], value), Math.max(range[1], value)]
      : [value, value];
  }
  return range;
}

/** From 0 to 1; by its logarithm where numbers are far apart, as a stall is from a step. */
export function heatOf(value: number, [low, high]: readonly [number, number]): number {
  if (high <= low) return 0;
  if (low > 0 && high / low > FAR_APART)
    return Math.log(value / low) / Math.log(high / low);
  return (value - low) / (high - low);
}

/** A row of cells as one background: a hundred rows stay a hundred elements. */
export function gradient(
  values: readonly Maybe<number>[],
  range: readonly [number, number],
): string {
  const share = 100 / Math.max(1, values.length);
  const stops = values.map((value, index) => {
    const percent = value === null ? null : Math.round(heatOf(value, range) * 100);
    const colour =
      percent === null
        ? "transparent"
        : `color-mix(in srgb, var(--fatal) ${percent}%, var(--track))`;
    return `${colour} ${(index * share).toFixed(2)}% ${((index + 1) * share).toFixed(2)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
